import { IncumbentModule } from '@incumbent/nestjs';
import { Module } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { TerminusModule } from '@nestjs/terminus';
import { HealthController } from './health.controller.js';
import { MailController, Mailer } from './mailer.js';
import { Reports } from './reports.js';

@Module({
  imports: [
    ScheduleModule.forRoot(),
    IncumbentModule.forRootAsync({
      useFactory: () => ({
        store: process.env['STORE_URL'] ?? 'sqlite:./state.db',
        member: { ttlMs: 5_000 },
        acceptWeakStore: 'redis',
      }),
    }),
    TerminusModule,
  ],
  controllers: [HealthController, MailController],
  providers: [Mailer, Reports],
})
export class AppModule {}
