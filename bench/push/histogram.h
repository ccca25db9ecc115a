/* Times of answers, in microseconds, and the line of JSON that tells them.
 *
 * It must not know what was timed. Times above two seconds count as two seconds.
 */
#ifndef PUSH_HISTOGRAM_H
#define PUSH_HISTOGRAM_H

#include "socket.h"

enum { SLOWEST_US = 2000000 };

static uint32_t histogram[SLOWEST_US + 1];
static uint64_t answered;

static inline void record(int64_t ns) {
    int64_t us = ns < 0 ? 0 : ns / 1000;
    histogram[us > SLOWEST_US ? SLOWEST_US : us]++;
    answered++;
}

static inline int percentile(double share) {
    uint64_t rank = (uint64_t)(share * (double)answered), seen = 0;
    for (int us = 0; us <= SLOWEST_US; us++) if ((seen += histogram[us]) > rank) return us;
    return SLOWEST_US;
}

static inline void report(int64_t began_ns) {
    int longest = SLOWEST_US;
    while (longest > 0 && histogram[longest] == 0) longest--;
    printf("{\"messages\":%lu,\"wall_us\":%ld,\"p50_us\":%d,\"p99_us\":%d,\"max_us\":%d}\n", answered, (now_ns() - began_ns) / 1000,
           percentile(0.5), percentile(0.99), longest);
}

#endif
