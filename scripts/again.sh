#!/usr/bin/env bash
# Runs a pytest command. If tests failed, exactly those run once more, in one process: one that fails again fails the command,
# one that passes now is named as unsteady. Nothing else is tried again: no collection that failed, no crash.
cache=.pytest_cache/v/cache/lastfailed
rm -f "$cache"
"$@"
code=$?
[ "$code" = 1 ] && [ -f "$cache" ] || exit "$code"
failed=$(sed -n 's/^  "\(.*\)": true,*$/  \1/p' "$cache")
case " $* " in *" -n "*) alone=-n0 ;; *) alone= ;; esac
printf '\nThese failed, and run once more, alone:\n%s\n' "$failed"
"$@" $alone --last-failed --last-failed-no-failures none || exit
printf '\nUNSTEADY: these passed only when they ran alone. That is a fault to be mended:\n%s\n' "$failed"
