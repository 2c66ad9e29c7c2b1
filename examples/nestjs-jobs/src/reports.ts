import { type CronRun, LeaderCron } from '@incumbent/nestjs';
import { Injectable } from '@nestjs/common';
import { CronExpression } from '@nestjs/schedule';

@Injectable()
export class Reports {
  /** Every slot matters: up to 60 missed ones run late. */
  @LeaderCron(CronExpression.EVERY_SECOND, { name: 'meter', timeZone: 'UTC', maxLate: 60 })
  readMeter({ slot, term }: CronRun): void {
    console.log(`meter ${slot.toISOString()} in term ${term}`);
  }

  @LeaderCron('0 0 3 * * *', { name: 'report', timeZone: 'Europe/Berlin' })
  sendReport({ slot, term }: CronRun): void {
    console.log(`report ${slot.toISOString()} in term ${term}`);
  }
}
