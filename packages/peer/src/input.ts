import type { Command, Input } from './algorithm.ts';

/** What an algorithm does with each type of input. */
export interface InputHandlers<Context, Message> {
  onTick(step: Context): void;
  onMessage(step: Context, from: string, message: Message): void;
  onCommand(step: Context, command: Command): void;
}

/** Calls the handler for the type of the input. */
export function handleInput<Context, Message>(
  step: Context,
  input: Input<Message>,
  { onTick, onMessage, onCommand }: InputHandlers<Context, Message>,
): void {
  switch (input.type) {
    case 'tick':
      return onTick(step);
    case 'message':
      return onMessage(step, input.from, input.message);
    case 'command':
      return onCommand(step, input.command);
    default:
      return input satisfies never;
  }
}
