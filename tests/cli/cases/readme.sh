# The sessions in README.md: each line that a command is said to print is printed, in that order and,
# but where a line of "..." stands, right behind the one before. What was executed is not held to it.
export LC_ALL=C.UTF-8
ln -s "$SAMPLES" sample-traces

awk '/^```/ { inside = !inside; n = 0; next }
     inside && /^\$ inquest / { n = ++all; print substr($0, 11) > ("command." n); next }
     n { print > ("told." n) }' "$SAMPLES/../README.md"

# compare TOLD: with the file `said`
compare() {
    awk 'BEGIN { while ((getline line < "said") > 0) said[++n] = line }
         /^ *\.\.\.$/ { skips = 1; next }
         {
             i = at + 1
             while (skips && i <= n && said[i] != $0) i++
             if (said[i] != $0) { print "not so: " $0; exit }
             at = i
             skips = 0
         }' "$1"
}

for command in command.*; do
    n=${command#command.}
    grep -q '^replay' "$command" && continue
    cat "$command"
    eval "$INQ $(cat "$command")" >said
    [ ! -f "told.$n" ] || compare "told.$n"
done
