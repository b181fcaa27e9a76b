/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of texts from the lists that enums are made of: FRUITS(X) X(APPLE, "apple") ... */
#ifndef INQ_BASE_WORDS_H
#define INQ_BASE_WORDS_H

/* static const char *const texts[] = {FRUITS(INQ_WORD_TEXT)}; */
#define INQ_WORD_TEXT(name, text) text,

#endif
