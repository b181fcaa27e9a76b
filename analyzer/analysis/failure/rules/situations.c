/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of situations: of what no line alone tells. */
#include "analysis/failure/rules/rules.h"

#include "base/arena_text.h"

#include <string.h>

#define TAKE_AGAIN "Take a second set of dumps a minute later: what has not moved hangs."

static const struct inq_failure_rule situations[INQ_SITUATION_COUNT] = {
    [INQ_SITUATION_NCCL_VERSIONS] =
        {.role = INQ_LOG_CAUSE,
         .cls = INQ_FAILURE_APPLICATION,
         .sub = "version",
         .weight = 82,
         .headline = "Processes run different versions of NCCL ({versions}), whose messages do not "
                     "fit: {text}",
         .advice = "Install one NCCL on all nodes: one container image, one LD_LIBRARY_PATH."},
    /* ---- by logs: nobody names a cause ---- */
    [INQ_SITUATION_XID_FOLLOWS] = {.headline = "Cause unknown: GPU errors that follow another one "
                                               "are here, that one is not."},
    [INQ_SITUATION_WATCHDOG_STUCK] =
        {.headline = "Cause unknown: NCCL's watchdog itself was stuck, in a CUDA call or waiting "
                     "for a lock; no line here names what held it."},
    [INQ_SITUATION_ACCUSED] = {.headline = "The others lost or waited for {who}, whose log should "
                                           "name the cause{told}."},
    [INQ_SITUATION_WORKER_LOST] =
        {.headline = "A worker died without telling why{worker}: its own log or the kernel log of "
                     "its node should name the cause."},
    [INQ_SITUATION_LAST_ERROR] =
        {.headline = "Cause unknown: the last error that {speaker} tells is \"{said}\"."},
    [INQ_SITUATION_PEER_FAILED] =
        {.headline = "Cause unknown: {speaker} noticed that a peer failed or did not join "
                     "({said}); the log of that peer is not here, or names no cause."},
    [INQ_SITUATION_STOPPED] = {.headline =
                                   "Stopped from outside: {end}; no line says by whom or why."},
    [INQ_SITUATION_HUNG_UP] =
        {.headline = "Stopped from outside by SIGHUP, as when the launcher's terminal or session "
                     "ends: {end}; no line says by whom or why."},
    [INQ_SITUATION_UNTOLD] = {.headline = "Cause unknown: processes were aborted or stopped, and "
                                          "no line here says why.",
                              .next = {"a failure that these logs do not show: check the stderr of "
                                       "every rank and the nodes' kernel logs"}},
    [INQ_SITUATION_PEER_NAMED] =
        {.next = {"the process or node at {other} failed first: check its log",
                  "the network: link, port or switch on the way to {other}; check the error "
                  "counters of both network cards"}},
    /* ---- by logs: ranks wait ---- */
    [INQ_SITUATION_SILENT] =
        {.headline = "The run hangs in {hang}: all other ranks report it, but not {who}"},
    [INQ_SITUATION_ALL_DONE] =
        {.headline = "The run hangs, but not in a collective of the group whose counters are here: "
                     "all of these are finished."},
    [INQ_SITUATION_ALL_DONE_ON_CPU] =
        {.headline = "Ranks wait on the CPU, in a barrier or for a store: all collectives on the "
                     "GPUs are finished, and the logs do not name the rank that did not join."},
    [INQ_SITUATION_ALL_WAIT] =
        {.headline = "The run hangs in {waited}{first}; the logs are of ranks that wait, not of "
                     "the one that they wait for.",
         .advice = FLIGHT,
         .next = {"a rank that did not join {hang}: the counters of the other ranks (their "
                  "dump-signal lines or Flight Recorder dumps) would name it",
                  "ranks that enter different collectives: Flight Recorder dumps with stacks would "
                  "tell",
                  "a GPU or link fault: check the nodes' kernel logs (Xid)"}},
    [INQ_SITUATION_NO_ERROR] = {.headline = "{Who} printed no error, while all other ranks waited "
                                            "in vain in {hang}{behind}."},
    [INQ_SITUATION_NOT_JOINED] = {.headline = "{Who} did not join while others waited: {late}."},
    [INQ_SITUATION_NO_LOSS] = {.headline = "{Who} printed no error, while the other ranks lost the "
                                           "connection or waited in vain: {victim}."},
    [INQ_SITUATION_RESTARTED] =
        {.headline = "{Who} restarted on its own: it came back to the coordination service as "
                     "another process (different incarnation)"},
    [INQ_SITUATION_NO_HEARTBEAT] =
        {.headline = "{Who} {was} lost: the others no longer heard from it (heartbeat timeout)"},
    [INQ_SITUATION_KILLED_LATE] =
        {.headline = "{Who} {was} killed (SIGKILL) after its peers had waited long for it, as "
                     "happens when host memory runs out",
         .next = {ASK_KILLER}},
    [INQ_SITUATION_LINK] = {.headline =
                                "The network or the process at its other end failed{to}: {text}"},
    [INQ_SITUATION_DIFFER] =
        {.headline = "{Odd} entered {its} where {rank} entered {theirs}: mismatched collectives."},
    [INQ_SITUATION_DIFFER_SAID] = {.headline = "Ranks did not enter the same collective: {text}."},
    /* ---- what may be said beside a cause ---- */
    [INQ_SITUATION_OWN_FRAME] = {.advice = "Look{at}."},
    [INQ_SITUATION_OTHER_CLOCK] =
        {.next = {"as printed, that line is {minutes} min after the hang: unless the clock or the "
                  "time zone of its machine differs, it is not its cause"}},
    [INQ_SITUATION_OTHER_OP] = {.next = {"ranks that took different paths, so that their counts no "
                                         "longer match: compare the stacks of both sides"}},
    [INQ_SITUATION_COUNTERS] =
        {.next = {"by the counters, the others wait for {suspected}: check its log"}},
    /* ---- by dumps ---- */
    [INQ_SITUATION_ON_GPU] = {.headline = "{Who} {is} stuck on the GPU: {they} enqueued but never "
                                          "{started} {what}{others}{victims}."},
    [INQ_SITUATION_ON_CPU] =
        {.headline = "{Who} {is} stuck on the CPU: {they} never enqueued {with}{op}{victims}."},
    [INQ_SITUATION_MEMBERS_DIFFER] = {.headline = "Members of {group} do not enter the same "
                                                  "collective at {seq}: {match}."},
    [INQ_SITUATION_LONE] =
        {.headline = "{Who} is in {own}, but is waited for in {theirs}, which {came}{victims}."},
    [INQ_SITUATION_CIRCLE] =
        {.headline = "{Who} wait for each other in a circle: they entered collectives, or sends "
                     "and receives, in different orders{victims}."},
    [INQ_SITUATION_JOINED] = {.headline = "All members joined {op}, and none finished: the network "
                                          "or one member's GPU, not a rank that is late{victims}."},
    [INQ_SITUATION_JOINED_ELSEWHERE] =
        {.headline = "All members joined {op}, and none finished; {elsewhere} likewise: the "
                     "network, or a run that was not hung when its dumps were written.",
         .next = {"no hang: a running job, asked for its dumps, looks like this; a second set of "
                  "dumps, or a timeout in the logs, decides"}},
    [INQ_SITUATION_UNFOLLOWED] =
        {.headline = "The dumps do not tell what had finished: each member enqueued what all the "
                     "others did, and whether the run hangs is open."},
    [INQ_SITUATION_UNCLEAR] = {.headline =
                                   "The run hangs, but the dumps do not tell who waits for whom."},
    [INQ_SITUATION_OLDER] =
        {.headline = "The dumps are of different moments: those of {older} are older and show "
                     "pending what the others have finished, and the others wait for nobody. "
                     "Whether the run hangs, the dumps do not tell.",
         .advice = TAKE_AGAIN},
    [INQ_SITUATION_SCATTERED] =
        {.headline =
             "The dumps are of different moments: others had left what {suspected} {be} in. "
             "Whether the run hangs, they do not tell.",
         .advice = TAKE_AGAIN},
    [INQ_SITUATION_SEVERAL_LATE] =
        {.headline =
             "Others wait in several groups for {suspected}, which never enqueued what they "
             "wait in, and {missing} left no whole dump: who began it, or whether the run "
             "hangs, the dumps do not tell.",
         .advice = TAKE_AGAIN},
    [INQ_SITUATION_DOUBTFUL] =
        {.headline = "Whether the run hangs, the dumps do not tell: in {groups} groups all members "
                     "are in one collective or transfer, as in a job that runs; {suspected} {be} "
                     "last.",
         .advice = TAKE_AGAIN},
    [INQ_SITUATION_STALE] = {.headline = "Others wait for {suspected}, whose dump was written "
                                         "before the others went on: whether the run hangs, the "
                                         "dumps do not tell."},
    [INQ_SITUATION_UNPLACED] =
        {.headline = "Others wait for {suspected}, pending in groups whose members no dump lists: "
                     "the cause is not in the dumps."},
    [INQ_SITUATION_NO_DUMP] = {.headline = "Others wait for {suspected}, which left no whole dump: "
                                           "the cause is not in the dumps."},
    [INQ_SITUATION_EARLY_DUMPS] =
        {.next =
             {"dumps of these ranks that are older than those of their peers and end before the "
              "hang"}},
    [INQ_SITUATION_MISSING_AWAITED] =
        {.next =
             {"a cause on {missing}: others wait there, and no whole dump shows the last moments; "
              "logs and nodes decide"}},
    [INQ_SITUATION_MISSING] =
        {.next = {"a cause on {missing}: no whole dump shows the last moments "
                  "there; a new one decides"}},
};

const struct inq_failure_rule *inq_failure_situation_rule(enum inq_failure_situation situation)
{
    return &situations[situation];
}

const char *inq_failure_fill(struct inq_arena *arena, const char *format, inq_failure_say *say,
                             void *ctx)
{
    enum { MOST = 900 }; /* a headline of some lines */
    char line[MOST];
    size_t n = 0;
    while (*format != '\0' && n + 1 < sizeof line) {
        const char *close = *format == '{' ? strchr(format, '}') : NULL;
        if (close == NULL) {
            line[n++] = *format++;
            continue;
        }
        const char *value = say(ctx, format + 1, (size_t)(close - format) - 1);
        size_t len = strnlen(value, sizeof line - 1 - n);
        memcpy(line + n, value, len);
        n += len;
        format = close + 1;
    }
    line[n] = '\0';
    return inq_arena_printf(arena, "%s", line);
}
