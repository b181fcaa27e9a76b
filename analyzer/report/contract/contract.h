/* SPDX-License-Identifier: Apache-2.0 */
/* The documents, for their writers: each begins with the schema that its contract has. Those that
 * are declared beside the table of all are found in it by name. */
#ifndef INQ_REPORT_CONTRACT_CONTRACT_H
#define INQ_REPORT_CONTRACT_CONTRACT_H

#include "base/json.h"
#include "inquest/contract.h"

extern const struct inq_contract inq_contract_report, inq_contract_report_set, inq_contract_info,
    inq_contract_compare, inq_contract_check, inq_contract_check_set, inq_contract_lint,
    inq_contract_lint_set, inq_contract_fix, inq_contract_replay, inq_contract_schedule;

/* Begins the document: the brace and its first key, "schema". */
void inq_json_document(struct inq_json *json, const struct inq_contract *contract);

/* Rows of a list of keys: plain; with what null means; with when it is absent; an object or array
 * of objects; a section of a report; one of a few words. */
#define INQ_KEY(name, type, unit, text)                                                            \
    {                                                                                              \
        name, INQ_KEY_##type, false, unit, text, NULL, NULL, NULL, NULL, NULL                      \
    }
#define INQ_KEY_NULL(name, type, unit, text, null)                                                 \
    {                                                                                              \
        name, INQ_KEY_##type, false, unit, text, null, NULL, NULL, NULL, NULL                      \
    }
#define INQ_KEY_IF(name, type, unit, text, absent)                                                 \
    {                                                                                              \
        name, INQ_KEY_##type, false, unit, text, NULL, NULL, absent, NULL, NULL                    \
    }
#define INQ_KEY_OF(name, type, text, keys)                                                         \
    {                                                                                              \
        name, INQ_KEY_##type, false, "", text, NULL, NULL, NULL, NULL, keys                        \
    }
#define INQ_KEY_NULL_IF(name, type, unit, text, null, absent)                                      \
    {                                                                                              \
        name, INQ_KEY_##type, false, unit, text, null, NULL, absent, NULL, NULL                    \
    }
#define INQ_KEY_OF_IF(name, type, text, absent, keys)                                              \
    {                                                                                              \
        name, INQ_KEY_##type, false, "", text, NULL, NULL, absent, NULL, keys                      \
    }
#define INQ_KEY_OF_NULL(name, type, text, null, keys)                                              \
    {                                                                                              \
        name, INQ_KEY_##type, false, "", text, null, NULL, NULL, NULL, keys                        \
    }
#define INQ_KEY_SECTION(name, type, text, absent, keys)                                            \
    {                                                                                              \
        name, INQ_KEY_##type, true, "", text, NULL, NULL, absent, NULL, keys                       \
    }
#define INQ_KEY_WORDS(name, text, words)                                                           \
    {                                                                                              \
        name, INQ_KEY_TEXT, false, "", text, NULL, NULL, NULL, words, NULL                         \
    }
/* What null means. */
#define INQ_NULL_NOT_MEASURED "not measured"
#define INQ_NULL_NOT_KNOWN    "not known"
#define INQ_NULL_NONE         "none"
#define INQ_KEYS_END                                                                               \
    {                                                                                              \
        NULL, INQ_KEY_TEXT, false, "", "", NULL, NULL, NULL, NULL, NULL                            \
    }

/* Of X(name, "word") and X(name, "word", "what"): "word|". */
#define INQ_KEY_WORD(name, word)         word "|"
#define INQ_KEY_WORD_3(name, word, what) word "|"

#define INQ_KEY_SCHEMA(name) INQ_KEY_WORDS("schema", "name and number of this contract", name)
#define INQ_KEY_TOOL         INQ_KEY("tool", TEXT, "", "the program and its version")
#define INQ_WORDS_SEVERITY   "info|low|medium|high"
#define INQ_WORDS_CONFIDENCE "hypothesis|supported|established"

#endif
