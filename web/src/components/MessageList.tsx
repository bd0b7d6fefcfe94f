/** Messages in order; the browser skips those that are not on the screen. */

import { Message } from "./Message";
import { Root } from "./Root";
import type { SessionMessage } from "./sessionJson";

export interface MessageListProps {
  messages: readonly SessionMessage[];
}

export function MessageList({ messages }: MessageListProps) {
  return (
    <Root>
      <div className="embedded-list">
        {messages.map((message, index) => (
          <Message key={`${message.id} ${index}`} message={message} />
        ))}
      </div>
    </Root>
  );
}
