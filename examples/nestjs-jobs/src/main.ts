/** A NestJS application whose jobs run once in a fleet, however many processes run this. */

import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { AppModule } from './app.module.js';

const app = await NestFactory.create(AppModule, new FastifyAdapter());
app.enableShutdownHooks(); // so that SIGTERM hands the jobs over
await app.listen(Number(process.env['PORT'] ?? 3_000), '127.0.0.1');
console.log(`listens at ${await app.getUrl()}`);
