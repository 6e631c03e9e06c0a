#!/usr/bin/env bash
# lanes.sh OUT SECONDS LANE...: runs lanes of matrices side by side, lane n on GPU n, and begins nothing new after
# SECONDS. A lane is MATRIX[:ENGINE[,ENGINE...]] items with + between them, in their order; a matrix's results are
# in OUT/MATRIX. Extra options for every run are taken from BENCH_OPTIONS. Call it again to go on.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
export PYTHONPATH="$root/bench:$root/exporters${PYTHONPATH:+:$PYTHONPATH}" PYTHONUNBUFFERED=1
out=$1
end=$(( $(date +%s) + $2 ))
shift 2

lane() {
  export CUDA_VISIBLE_DEVICES=$1
  for item in ${2//+/ }; do
    matrix=${item%%:*}
    engines=${item#"$matrix"}
    left=$(( end - $(date +%s) ))
    [ "$left" -gt 0 ] || break
    # shellcheck disable=SC2086
    python3 -m specwatch_bench.run_matrix "$here/$matrix.yaml" --out "$out/$matrix" --models "$out/models" \
      --engines "${engines#:}" --stop-after "$left" ${BENCH_OPTIONS:-} 2>&1 | sed -u "s/^/[$1 $matrix] /"
  done
}

number=0
for items in "$@"; do
  lane "$number" "$items" &
  number=$(( number + 1 ))
done
wait
echo "lanes are done"
