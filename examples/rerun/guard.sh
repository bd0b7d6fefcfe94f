#!/bin/sh
# A hook for PreToolUse: nobody pushes to main.
if grep -q 'git push [^"]*main'; then
  echo "Pushing to main is for people." >&2
  exit 2
fi
