# Sourced by scripts/test and .ci/run: steps with their time, in a folder below target/. A script that another one starts adds its
# steps to that one's table.
steps_are_own=${STEPS:+no}
if [ -z "$steps_are_own" ]; then
    export STEPS=${CARGO_TARGET_DIR:-$PWD/target}/steps
    rm -rf "$STEPS"
    mkdir -p "$STEPS"
fi
step_name=

# Sets `cpu` to the CPU time of this shell and of the programs that it has waited for, in seconds. A subshell would have its own.
read_cpu() {
    local times=$STEPS/times.$BASHPID
    times >"$times"
    cpu=$(tr 'ms' '  ' <"$times" | awk '{ sum += 60 * ($1 + $3) + $2 + $4 } END { printf "%d", sum }')
}

end_step() {
    [ -n "$step_name" ] || return 0
    read_cpu
    printf '%s\t%d\t%d\n' "$step_name" $((SECONDS - step_since)) $((cpu - step_cpu)) >>"$STEPS/steps.tsv"
    step_name=
}

step() {
    end_step
    read_cpu
    step_name=$1 step_since=$SECONDS step_cpu=$cpu
    printf '\n\033[1m== %s\033[0m\n' "$1"
}

# Starts a command beside the steps, as a step of its own: NAME COMMAND…. It is no child of this shell, because a shell adds the
# CPU time of a child to whatever step it ends in. The starting script also sets `trap 'stop_beside NAME' EXIT`.
beside() {
    (
        set -m
        (
            since=$SECONDS status=0
            "${@:2}" >"$STEPS/$1.log" 2>&1 || status=$?
            read_cpu
            printf '%s\t%d\t%d\t, beside the others\n' "$1" $((SECONDS - since)) "$cpu" >>"$STEPS/steps.tsv"
            echo "$status" >"$STEPS/$1.status"
        ) &
        echo $! >"$STEPS/$1.process"
    )
}

# Waits for a command that `beside` started. Prints its output if it failed.
join_beside() {
    tail --pid="$(cat "$STEPS/$1.process")" -f /dev/null
    [ "$(cat "$STEPS/$1.status")" = 0 ] || { cat "$STEPS/$1.log"; return 1; }
}

stop_beside() {
    [ -e "$STEPS/$1.status" ] || kill -- "-$(cat "$STEPS/$1.process")" || true
}

# Ends the last step. The outermost script prints the table: wall and CPU time of each step, in seconds.
end_steps() {
    end_step
    if [ -z "$steps_are_own" ]; then
        printf '\n%8s %8s  %s\n' 'wall s' 'CPU s' step
        awk -F'\t' '{ printf "%8d %8d  %s%s\n", $2, $3, $1, $4; cpu += $3 }
            $4 == "" { wall += $2 }
            END { printf "%8d %8d  in all\n", wall, cpu }' "$STEPS/steps.tsv"
    fi
}

# Runs tests of some packages (`cargo test`), and notes how long each took.
timed_tests() {
    # The binaries of tests know their times, but say them only if unstable options are allowed.
    cargo --config 'target."cfg(all())".runner = ["env", "RUSTC_BOOTSTRAP=1"]' test --locked "$@" --lib --bins --tests -- \
        -Z unstable-options --report-time | tee -a "$STEPS/tests.log"
    cargo test --locked "$@" --doc
}

slowest_tests() {
    printf '\n%8s  %s\n' s 'the slowest tests'
    sed -nE 's/^test (.*) \.\.\. ok <([0-9.]+)s>$/\2 \1/p' "$STEPS/tests.log" | sort -rn | sed -n 1,20p |
        while read -r seconds test; do printf '%8.1f  %s\n' "$seconds" "$test"; done
}

# Fails if a step took more than twice its CPU time in a file of budgets, or has none there.
check_budgets() {
    awk -F'\t' 'NR == FNR { if ($0 !~ /^#/) budget[$2] = $1; next }
        !($1 in budget) { print "no budget: " $1; wrong = 1; next }
        $3 > 2 * budget[$1] { print $1 ": " $3 " s of CPU time, over twice the budget of " budget[$1] " s"; wrong = 1 }
        END { exit wrong }' "$1" "$STEPS/steps.tsv" >&2
}
