import { Bar } from "./Bar";
import { Empty } from "./PageStates";

/** The page of an address that names nothing. */
export function UnknownPage() {
  return (
    <>
      <Bar page="unknown" />
      <main>
        <Empty title="Not found">
          <p>There is no page at this address.</p>
          <p>
            <a href="#/">All sessions</a>
          </p>
        </Empty>
      </main>
    </>
  );
}
