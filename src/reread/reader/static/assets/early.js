// Asks for the session in the address at once: the server reads its file while the reader's own script is loaded.
{
  const session = /^#\/s\/([^/?]+)/.exec(location.hash)?.[1];
  const address = `api/sessions/${session}?brief=1`;
  if (session) window.early = { address, response: fetch(address) };
  window.early?.response.catch(() => {}); // the reader asks again, and says what is wrong
}
