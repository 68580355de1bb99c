/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The one-way delay of a data packet from the timestamp option (RFC 7323; LP03 III-A.2).
 *
 * The peer's TSval starts at a random offset in a unit of the peer's choice, so only differences
 * from the connection's first sample are meaningful; they use wrapping arithmetic. The paper
 * subtracts the echoed TSecr; here the packet's own send time replaces it. It is the same instant,
 * but in microseconds, and it belongs to the newest packet that the ACK covers, whereas TSecr
 * belongs to the oldest: with delayed ACKs the wait for the second packet is then not part of the
 * delay.
 */
#ifndef NETNICE_POLICY_ONE_WAY_DELAY_H
#define NETNICE_POLICY_ONE_WAY_DELAY_H

#include "integer.h"
#include "report.h"

#define ONE_WAY_DELAY_MILLISECOND_TICK_US 1000U /* RFC 7323 hosts, until measured otherwise */
#define ONE_WAY_DELAY_MICROSECOND_TICK_US 1U    /* Linux with the tcp_usec_ts route feature */
#define ONE_WAY_DELAY_TICK_UNUSABLE 0U          /* neither: this peer's clock is unreadable */

/* Value of the first sample, so that smaller delays stay positive. */
#define ONE_WAY_DELAY_ORIGIN_US (1U << 30)

#define ONE_WAY_DELAY_MEASURE_MICROSECONDS_AFTER_US 20000U
#define ONE_WAY_DELAY_MEASURE_MILLISECONDS_AFTER_US 2000000U

/*
 * Until the tick is known, all samples lie within two seconds of the first: one this much later
 * follows a pause. Our time wraps in 72 minutes, so a short elapsed time is credible only if the
 * ticks are few as well: a millisecond clock makes this many in 67 minutes.
 */
#define ONE_WAY_DELAY_PAUSE_US 10000000U
#define ONE_WAY_DELAY_PAUSE_TICKS 4000000U
/* A clock stale this often is unusable: pauses are that long, but not before every packet. */
#define ONE_WAY_DELAY_STARTS 8U

struct one_way_delay {
	u32 first_tsval;
	u32 first_sent_us;
	u32 first_received_us;
	u16 tick_us;
	u8 started : 7;  /* number of starts; final once the tick is known */
	u8 measured : 1; /* the tick is known, not assumed */
};

/*
 * Before the tick is known: returns whether a pause lies between, so that `elapsed_us` may have
 * wrapped.
 */
POLICY_INLINE int one_way_delay_has_paused(u32 ticks, u32 elapsed_us)
{
	return elapsed_us >= ONE_WAY_DELAY_PAUSE_US || ticks >= ONE_WAY_DELAY_PAUSE_TICKS;
}

/* Returns whether the ticks fit a millisecond clock, however often it and ours have wrapped. */
POLICY_INLINE int one_way_delay_is_in_milliseconds(u32 ticks, u32 elapsed_us)
{
	u32 gained_us = ticks * ONE_WAY_DELAY_MILLISECOND_TICK_US - elapsed_us;

	return gained_us + ONE_WAY_DELAY_MEASURE_MILLISECONDS_AFTER_US <
	       2 * ONE_WAY_DELAY_MEASURE_MILLISECONDS_AFTER_US;
}

/*
 * Returns whether the tick can no longer be measured: after a wrap, any clock may look like any
 * other.
 */
POLICY_INLINE int one_way_delay_is_stale(const struct one_way_delay *clock, u32 ticks,
					 u32 elapsed_us)
{
	return clock->started && !clock->measured && one_way_delay_has_paused(ticks, elapsed_us) &&
	       !one_way_delay_is_in_milliseconds(ticks, elapsed_us);
}

/*
 * Measures the peer's tick by the advance of its clock while ours advanced by `elapsed_us`. A
 * microsecond clock is 1000 times faster than a millisecond one, so 20 ms distinguish the two unless
 * queueing has shifted the stamps by more than half of that; a clock that is neither takes longer.
 * After a pause the clock is a millisecond clock, or stale. Returns 1 when the tick has changed and
 * earlier delays no longer compare with later ones.
 */
POLICY_INLINE int one_way_delay_measure_tick(struct one_way_delay *clock, u32 ticks, u32 elapsed_us)
{
	int paused = one_way_delay_has_paused(ticks, elapsed_us);

	if (clock->measured || elapsed_us < ONE_WAY_DELAY_MEASURE_MICROSECONDS_AFTER_US)
		return 0;
	/* Not just any fast one: a peer whose clock jumps would have its queue read as empty. */
	if (!paused && ticks >= elapsed_us / 2 && ticks <= 2 * elapsed_us) {
		clock->measured = 1;
		clock->tick_us = ONE_WAY_DELAY_MICROSECOND_TICK_US;
		return 1;
	}
	if (elapsed_us < ONE_WAY_DELAY_MEASURE_MILLISECONDS_AFTER_US)
		return 0;
	clock->measured = 1;
	if (paused || (ticks >= elapsed_us / 2000 && ticks <= elapsed_us / 500))
		return 0;
	clock->tick_us = ONE_WAY_DELAY_TICK_UNUSABLE;
	return 1;
}

POLICY_INLINE void one_way_delay_begin(struct one_way_delay *clock, u32 tsval, u32 sent_us,
				       u32 received_us)
{
	clock->started++;
	clock->measured = 0;
	clock->tick_us = ONE_WAY_DELAY_MILLISECOND_TICK_US;
	clock->first_tsval = tsval;
	clock->first_sent_us = sent_us;
	clock->first_received_us = received_us;
}

/*
 * Returns the relative one-way delay in microseconds, around ONE_WAY_DELAY_ORIGIN_US, of a packet
 * sent at `sent_us` whose ACK carries `tsval` and arrived at `received_us` (both on our clock);
 * zero if unknown. Sets `*restarted` when earlier values no longer compare with this one.
 */
POLICY_INLINE u32 one_way_delay_sample(struct one_way_delay *clock, u32 tsval, u32 sent_us,
				       u32 received_us, u8 *restarted)
{
	int stale = one_way_delay_is_stale(clock, tsval - clock->first_tsval,
					   received_us - clock->first_received_us);
	u32 ticks, elapsed_us;

	if (stale || !clock->started)
		one_way_delay_begin(clock, tsval, sent_us, received_us);
	/* Otherwise a clock that jumps all the time would make every queue pass for the smallest. */
	if (clock->started > ONE_WAY_DELAY_STARTS) {
		clock->measured = 1;
		clock->tick_us = ONE_WAY_DELAY_TICK_UNUSABLE;
	}
	ticks = tsval - clock->first_tsval;
	elapsed_us = received_us - clock->first_received_us;
	/*
	 * A single store: compilers may merge two with one to the clock, which BPF's verifier
	 * rejects.
	 */
	*restarted = one_way_delay_measure_tick(clock, ticks, elapsed_us) || stale;
	if (clock->tick_us == ONE_WAY_DELAY_TICK_UNUSABLE)
		return 0;
	return ONE_WAY_DELAY_ORIGIN_US + ticks * clock->tick_us - (sent_us - clock->first_sent_us);
}

/*
 * Returns how long a packet of data was on its way, around ONE_WAY_DELAY_ORIGIN_US; zero if unknown. It
 * carries `tsval` and arrived at `now_us`: here the peer's stamp is the earlier one.
 */
POLICY_INLINE u32 one_way_delay_of_data(struct one_way_delay *clock, u32 tsval, u32 now_us,
					u8 *restarted)
{
	u32 delay_us = one_way_delay_sample(clock, tsval, now_us, now_us, restarted);

	return delay_us ? 2 * ONE_WAY_DELAY_ORIGIN_US - delay_us : 0;
}

/*
 * Returns the one-way delay of the newest packet that an ACK covers, sent `sample_rtt_us` ago; zero
 * also if the ACK has no timestamp. Reports the source of the delay: one-way delays, else round
 * trips.
 */
POLICY_INLINE u32 one_way_delay_of_ack(struct one_way_delay *clock, struct policy_report *report,
				       u8 has_timestamp, u32 tsval, u32 sample_rtt_us, u32 now_us,
				       u8 *restarted)
{
	u32 delay_us = 0;

	*restarted = 0;
	if (has_timestamp)
		delay_us = one_way_delay_sample(clock, tsval, now_us - sample_rtt_us, now_us,
						restarted);
	report->signal = delay_us ? POLICY_SIGNAL_ONE_WAY_DELAY : POLICY_SIGNAL_ROUND_TRIP;
	return delay_us;
}

#endif
