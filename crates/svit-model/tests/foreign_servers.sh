#!/usr/bin/env bash
# Runs the tests of tests/it/foreign.rs against servers that we did not write:
#   aimock  (npm @copilotkit/aimock)   command: $AIMOCK, else `aimock` on the PATH
#   llmock  (PyPI llmock)              command: $LLMOCK, else `llmock` on the PATH
# One that is not installed is skipped, with the reason; nothing is installed here. Both keep to 127.0.0.1.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
ended=()
trap 'for id in "${ended[@]:-}"; do [ -n "$id" ] && kill "$id" 2>/dev/null || true; done' EXIT

free_port() {
  # A port from the dynamic range that nothing answers on.
  local port
  while :; do
    port=$((49152 + RANDOM % 16000))
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port"; return; }
  done
}

await() {
  for _ in $(seq 100); do
    (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null && return 0
    sleep 0.1
  done
  echo "the server on port $1 did not start" >&2
  return 1
}

aimock=${AIMOCK:-$(command -v aimock || true)}
if [ -n "$aimock" ]; then
  port=$(free_port)
  (cd "$here/foreign" && exec "$aimock" --config aimock-config.json --port "$port" >/dev/null) &
  ended+=($!)
  await "$port"
  export SVIT_TEST_AIMOCK="http://127.0.0.1:$port"
else
  echo "skipped: aimock is not installed (npm install @copilotkit/aimock)"
fi

# The npm package brings a command of the same name: only the other one has \`serve\`.
llmock=${LLMOCK:-$(command -v llmock || true)}
help=$([ -n "$llmock" ] && "$llmock" serve --help 2>/dev/null || true)
if [[ "$help" == *stream-fault* ]]; then
  port=$(free_port)
  "$llmock" serve --port "$port" --log-level error &
  ended+=($!)
  await "$port"
  export SVIT_TEST_LLMOCK="http://127.0.0.1:$port"
else
  echo "skipped: llmock is not installed (pip install llmock)"
fi

if [ -z "${SVIT_TEST_AIMOCK:-}${SVIT_TEST_LLMOCK:-}" ]; then
  exit 0
fi
cargo test -p svit-model --test it foreign -- --nocapture --test-threads=1
