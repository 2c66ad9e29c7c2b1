import { setTimeout as sleep } from 'node:timers/promises';
import { Lead, LeaderGuard } from '@incumbent/nestjs';
import { Controller, Get, Injectable, UseGuards } from '@nestjs/common';
import type { Leadership } from 'incumbent';

/** Sends mails in the process that leads. */
@Injectable()
export class Mailer {
  term: string | undefined;

  @Lead('mailer')
  async send(leadership: Leadership): Promise<void> {
    const { term, signal } = leadership;
    this.term = String(term);
    console.log(`sends mails in term ${term}`);
    while (leadership.isValid()) await sleep(1_000, undefined, { signal }); // the mails of this second
  }
}

/** Answers 503 in the processes that do not lead. */
@Controller('mails')
@UseGuards(LeaderGuard('mailer'))
export class MailController {
  constructor(private readonly mailer: Mailer) {}

  @Get()
  status(): { readonly term: string | undefined } {
    return { term: this.mailer.term };
  }
}
