/** The kinds of finding in a session that is to be shared, in words. */

const NAMES: Record<string, string> = {
  email: "E-mail address",
  "git-remote": "Git remote",
  host: "Host name",
  "json-web-token": "JSON web token",
  person: "Name of a person",
  text: "Your own text",
  "url-password": "Password in a URL",
  user: "User name",
};
/** Words that are not written as others. */
const SPELLINGS: Record<string, string> = {
  ai: "AI", api: "API", aws: "AWS", github: "GitHub", gitlab: "GitLab", id: "ID", npm: "npm", oauth: "OAuth", openai: "OpenAI", pypi: "PyPI", sts: "STS", url: "URL",
};

/** `github-token` as `GitHub token`. */
export function kindName(kind: string): string {
  const words = kind.split("-").map((word, at) => SPELLINGS[word] ?? (at ? word : word.charAt(0).toUpperCase() + word.slice(1)));
  return NAMES[kind] ?? words.join(" ");
}
