// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Traffic through a router of this kernel, and what its queue does to it, for validation/compare_linux.
//
//     traffic link NAME                  turns off segmentation and merging of packets by a device
//     traffic run SEED WARM_UP END FLOW…  sends for END seconds, of which those after WARM_UP count; prints a line of JSON
//
// A flow is tcp,GROUP,SOURCE,SINK,CONTROL,TOS or udp,GROUP,SOURCE,SINK,BITS_PER_SECOND,TOS, where SOURCE and SINK are addresses. The
// sockets of a sender are in the namespace `near`, those of a receiver in `far`. In `router` two packet sockets see
// each packet before the queue, at device `in`, and after it, at device `out`: its wait is the time between.

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum {
	FIRST_PORT = 5000,
	MOST_FLOWS = 64,
	MOST_PACKETS = 1 << 18,
	HASH_SLOTS = 1 << 20,
	// Ethernet, IP and UDP around the data: a frame of 1514 bytes.
	UDP_DATA = 1472,
	UDP_FRAME = 1514,
};

static const int64_t SECOND = 1000000000;
// The sockets of the meter hold more than arrives within this time.
static const int64_t METER_INTERVAL = 20000000;

struct flow {
	bool tcp;
	char group[32], source[32], sink[32], control[32];
	double rate;
	int tos;
	int64_t start;
	int sender, listener, receiver;
	bool started;
	uint64_t udp_sent, received;
	// Of the meter.
	uint64_t arrived, dropped, marked;
};

struct packet {
	uint64_t key;
	int64_t arrived, left;
	uint16_t flow;
	bool marked, fresh;
};

static struct flow flows[MOST_FLOWS];
static int flow_count;
static struct packet *packets;
static int packet_count;
// For each slot the latest packet with such a key, plus 1.
static uint32_t *slots;
static int64_t last_departure;
static int meter_in, meter_out;
// Packets that hosts send after the flows have ended belong to no flow.
static int64_t run_end;

static void fail(const char *what)
{
	fprintf(stderr, "traffic: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int checked(int result, const char *what)
{
	if (result < 0)
		fail(what);
	return result;
}

// The clock of packet sockets' timestamps.
static int64_t now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_REALTIME, &time);
	return time.tv_sec * SECOND + time.tv_nsec;
}

static void enter(const char *namespace)
{
	char path[64];
	snprintf(path, sizeof path, "/run/netns/%s", namespace);
	int file = checked(open(path, O_RDONLY | O_CLOEXEC), path);
	checked(setns(file, CLONE_NEWNET), path);
	close(file);
}

static void set(int file, int level, int option, int value)
{
	checked(setsockopt(file, level, option, &value, sizeof value), "setsockopt");
}

static struct sockaddr_in address(const char *text, uint16_t port)
{
	struct sockaddr_in name = { .sin_family = AF_INET, .sin_port = htons(port) };
	if (inet_pton(AF_INET, text, &name.sin_addr) != 1) {
		fprintf(stderr, "traffic: %s is no address\n", text);
		exit(1);
	}
	return name;
}

static int bound(int type, const char *text, uint16_t port)
{
	int file = checked(socket(AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), "socket");
	struct sockaddr_in name = address(text, port);
	set(file, SOL_SOCKET, SO_REUSEADDR, 1);
	checked(bind(file, (struct sockaddr *)&name, sizeof name), "bind");
	return file;
}

static void set_control(int file, const char *control)
{
	checked(setsockopt(file, IPPROTO_TCP, TCP_CONGESTION, control, (socklen_t)strlen(control)),
		control);
}

// Flow number `index` has this port at both ends.
static void open_sockets(int index)
{
	struct flow *flow = &flows[index];
	uint16_t port = (uint16_t)(FIRST_PORT + index);
	int type = flow->tcp ? SOCK_STREAM : SOCK_DGRAM;
	enter("far");
	flow->listener = flow->receiver = -1;
	int *receiving = flow->tcp ? &flow->listener : &flow->receiver;
	*receiving = bound(type, flow->sink, port);
	if (!flow->tcp)
		set(flow->receiver, SOL_SOCKET, SO_RCVBUFFORCE, 1 << 20);
	if (flow->tcp) {
		// DCTCP's receiver has feedback of its own.
		set_control(flow->listener, flow->control);
		checked(listen(flow->listener, 1), "listen");
	}
	enter("near");
	flow->sender = bound(type, flow->source, port);
	set(flow->sender, IPPROTO_IP, IP_TOS, flow->tos);
	if (flow->tcp) {
		set_control(flow->sender, flow->control);
		// Any limit turns on pacing, by which DCTCP is what Prague is.
		if (strcmp(flow->control, "dctcp") == 0)
			set(flow->sender, SOL_SOCKET, SO_MAX_PACING_RATE, 125000000);
	} else {
		// A connected socket that must not fragment numbers its packets.
		struct sockaddr_in sink = address(flow->sink, port);
		set(flow->sender, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO);
		checked(connect(flow->sender, (struct sockaddr *)&sink, sizeof sink), "connect");
	}
}

static int meter(const char *device)
{
	enter("router");
	int file = checked(socket(AF_PACKET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0),
			   "packet socket");
	set(file, SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20);
	set(file, SOL_SOCKET, SO_TIMESTAMPNS, 1);
	struct sockaddr_ll name = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_ALL),
		.sll_ifindex = checked((int)if_nametoindex(device) - 1, device) + 1,
	};
	checked(bind(file, (struct sockaddr *)&name, sizeof name), "bind packet socket");
	return file;
}

static uint32_t slot_of(uint64_t key)
{
	return (uint32_t)((key * 0x9e3779b97f4a7c15) >> 44);
}

// The latest packet with this key, or NULL; `slot` is where it is or would be.
static struct packet *find(uint64_t key, uint32_t *slot)
{
	for (*slot = slot_of(key); slots[*slot] != 0; *slot = (*slot + 1) % HASH_SLOTS)
		if (packets[slots[*slot] - 1].key == key)
			return &packets[slots[*slot] - 1];
	return NULL;
}

static void drain(int file, bool after);

static void note(int64_t time, const unsigned char *bytes, bool after)
{
	struct iphdr ip;
	uint16_t ports[2];
	memcpy(&ip, bytes, sizeof ip);
	memcpy(ports, bytes + sizeof ip, sizeof ports);
	int flow = ntohs(ports[1]) - FIRST_PORT;
	if (ip.version != 4 || ip.ihl != 5 || flow < 0 || flow >= flow_count)
		return;
	uint64_t key = (uint64_t)flow << 16 | ntohs(ip.id);
	uint32_t slot;
	struct packet *packet = find(key, &slot);
	if (after) {
		if (packet == NULL) {
			// It has arrived since the other socket was read.
			drain(meter_in, false);
			packet = find(key, &slot);
		}
		if (packet == NULL || packet->left != 0) {
			if (time >= run_end)
				return;
			fprintf(stderr, "traffic: a packet left that had not arrived\n");
			return;
		}
		packet->left = last_departure = time;
		packet->marked = packet->fresh && (ip.tos & 3) == 3;
		return;
	}
	if (time >= run_end)
		return;
	if (packet_count == MOST_PACKETS) {
		fprintf(stderr, "traffic: more than %d packets\n", MOST_PACKETS);
		exit(1);
	}
	packets[packet_count] = (struct packet){
		.key = key, .arrived = time, .flow = (uint16_t)flow, .fresh = (ip.tos & 3) != 3
	};
	slots[slot] = (uint32_t)++packet_count;
}

static void drain(int file, bool after)
{
	for (;;) {
		unsigned char bytes[64], control[128];
		struct sockaddr_ll from;
		struct iovec vector = { bytes, sizeof bytes };
		struct msghdr message = { .msg_name = &from,
					  .msg_namelen = sizeof from,
					  .msg_iov = &vector,
					  .msg_iovlen = 1,
					  .msg_control = control,
					  .msg_controllen = sizeof control };
		if (recvmsg(file, &message, 0) < 0)
			return;
		bool outgoing = from.sll_pkttype == PACKET_OUTGOING;
		if (from.sll_protocol != htons(ETH_P_IP) || outgoing != after)
			continue;
		for (struct cmsghdr *part = CMSG_FIRSTHDR(&message); part != NULL;
		     part = CMSG_NXTHDR(&message, part)) {
			struct timespec time;
			if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SO_TIMESTAMPNS)
				continue;
			memcpy(&time, CMSG_DATA(part), sizeof time);
			note(time.tv_sec * SECOND + time.tv_nsec, bytes, after);
		}
	}
}

static void check_meter(int file)
{
	struct tpacket_stats statistics;
	socklen_t size = sizeof statistics;
	checked(getsockopt(file, SOL_PACKET, PACKET_STATISTICS, &statistics, &size),
		"PACKET_STATISTICS");
	if (statistics.tp_drops > 0) {
		fprintf(stderr, "traffic: the meter missed %u packets\n", statistics.tp_drops);
		exit(1);
	}
}

static int compare(const void *left, const void *right)
{
	int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
	return (a > b) - (a < b);
}

// Prints number, mean and 95 % of the waits of packets of `group`, or of all with NULL, that left within the window.
static void print_waits(const char *group, int64_t from, int64_t to, int64_t *waits)
{
	size_t count = 0;
	double sum = 0;
	for (int i = 0; i < packet_count; i++) {
		const struct packet *packet = &packets[i];
		if (packet->left < from || packet->left >= to ||
		    (group && strcmp(flows[packet->flow].group, group) != 0))
			continue;
		waits[count] = packet->left - packet->arrived;
		sum += (double)waits[count++];
	}
	qsort(waits, count, sizeof *waits, compare);
	printf("\"departed\":%zu,\"wait_mean_s\":%.9f,\"wait_p95_s\":%.9f", count,
	       count ? sum / (double)count / 1e9 : 0.0,
	       count ? (double)waits[(size_t)((double)(count - 1) * 0.95 + 0.5)] / 1e9 : 0.0);
}

static void report(int64_t from, int64_t to)
{
	// A flow's packets leave in their order: one that never leaves was dropped before the next that
	// does.
	int64_t next[MOST_FLOWS] = { 0 };
	for (int i = packet_count - 1; i >= 0; i--) {
		const struct packet *packet = &packets[i];
		struct flow *flow = &flows[packet->flow];
		bool left = packet->left != 0;
		if (left)
			next[packet->flow] = packet->left;
		int64_t dropped = next[packet->flow] != 0 ? next[packet->flow] : packet->arrived;
		flow->dropped += !left && dropped >= from && dropped < to;
		if (packet->arrived >= from && packet->arrived < to) {
			flow->arrived++;
			flow->marked += packet->marked;
		}
	}
	int64_t *waits = calloc(MOST_PACKETS, sizeof *waits);
	if (waits == NULL)
		fail("calloc");
	printf("{\"seconds\":%.6f,", (double)(to - from) / 1e9);
	print_waits(NULL, from, to, waits);
	printf(",\"groups\":{");
	for (int i = 0; i < flow_count; i++) {
		bool is_first = true;
		for (int j = 0; j < i; j++)
			is_first = is_first && strcmp(flows[i].group, flows[j].group) != 0;
		if (!is_first)
			continue;
		uint64_t arrived = 0, dropped = 0, marked = 0, received = 0;
		for (int j = i; j < flow_count; j++) {
			if (strcmp(flows[i].group, flows[j].group) != 0)
				continue;
			arrived += flows[j].arrived;
			dropped += flows[j].dropped;
			marked += flows[j].marked;
			received += flows[j].received;
		}
		printf("%s\"%s\":{\"arrived\":%llu,\"dropped\":%llu,\"marked\":%llu,\"received_"
		       "bytes\":%llu,",
		       i ? "," : "", flows[i].group, (unsigned long long)arrived,
		       (unsigned long long)dropped, (unsigned long long)marked,
		       (unsigned long long)received);
		print_waits(flows[i].group, from, to, waits);
		printf("}");
	}
	printf("}}\n");
	free(waits);
}

static void start(int index)
{
	struct flow *flow = &flows[index];
	flow->started = true;
	if (!flow->tcp)
		return;
	struct sockaddr_in sink = address(flow->sink, (uint16_t)(FIRST_PORT + index));
	if (connect(flow->sender, (struct sockaddr *)&sink, sizeof sink) < 0 &&
	    errno != EINPROGRESS)
		fail("connect");
}

static void receive(struct flow *flow, bool counts)
{
	static char bytes[65536];
	ssize_t length;
	while ((length = recv(flow->receiver, bytes, sizeof bytes, 0)) > 0)
		if (counts)
			flow->received += (uint64_t)length;
}

// Sends what is due of a constant rate; returns the time of the next packet.
static int64_t send_due(struct flow *flow, int64_t time)
{
	static const char bytes[UDP_DATA];
	for (;;) {
		int64_t due = flow->start +
			      (int64_t)((double)flow->udp_sent * UDP_FRAME * 8e9 / flow->rate);
		if (due > time)
			return due;
		(void)!send(flow->sender, bytes, sizeof bytes, 0);
		flow->udp_sent++;
	}
}

static void parse(char *text)
{
	static char *empty = "";
	char *parts[6] = { empty, empty, empty, empty, empty, empty };
	for (int i = 0; i < 6 && text != NULL; i++)
		parts[i] = strsep(&text, ",");
	if (flow_count == MOST_FLOWS) {
		fprintf(stderr, "traffic: more than %d flows\n", MOST_FLOWS);
		exit(1);
	}
	struct flow *flow = &flows[flow_count++];
	flow->tcp = strcmp(parts[0], "tcp") == 0;
	snprintf(flow->group, sizeof flow->group, "%s", parts[1]);
	snprintf(flow->source, sizeof flow->source, "%s", parts[2]);
	snprintf(flow->sink, sizeof flow->sink, "%s", parts[3]);
	snprintf(flow->control, sizeof flow->control, "%s", parts[4]);
	flow->rate = atof(parts[4]);
	flow->tos = atoi(parts[5]);
}

static void run(unsigned seed, double warm_up, double end)
{
	static char data[65536];
	packets = calloc(MOST_PACKETS, sizeof *packets);
	slots = calloc(HASH_SLOTS, sizeof *slots);
	if (packets == NULL || slots == NULL)
		fail("calloc");
	prctl(PR_SET_TIMERSLACK, 1);
	meter_in = meter("in");
	meter_out = meter("out");
	for (int i = 0; i < flow_count; i++)
		open_sockets(i);
	int64_t began = now(), from = began + (int64_t)(warm_up * 1e9),
		to = began + (int64_t)(end * 1e9);
	run_end = to;
	srandom(seed);
	for (int i = 0; i < flow_count; i++)
		flows[i].start = began + (int64_t)((double)random() / RAND_MAX * 1e9);
	int64_t next_drain = began;
	for (;;) {
		int64_t time = now(), next = to;
		if (time >= to)
			break;
		if (time >= next_drain) {
			drain(meter_in, false);
			drain(meter_out, true);
			// Only TCP answers to what arrives.
			for (int i = 0; i < flow_count; i++)
				if (!flows[i].tcp)
					receive(&flows[i], time >= from);
			next_drain += METER_INTERVAL;
		}
		if (next_drain < next)
			next = next_drain;
		struct pollfd files[3 * MOST_FLOWS];
		int count = 0, owner[3 * MOST_FLOWS];
		for (int i = 0; i < flow_count; i++) {
			struct flow *flow = &flows[i];
			if (!flow->started && time >= flow->start)
				start(i);
			int64_t due = flow->started ? (flow->tcp ? to : send_due(flow, time)) :
						      flow->start;
			if (due < next)
				next = due;
			struct pollfd wanted[] = {
				{ .fd = flow->listener, .events = POLLIN },
				{ .fd = flow->tcp ? flow->receiver : -1, .events = POLLIN },
				{ .fd = flow->started && flow->tcp ? flow->sender : -1,
				  .events = POLLOUT },
			};
			for (int j = 0; j < 3; j++) {
				if (wanted[j].fd < 0)
					continue;
				owner[count] = i;
				files[count++] = wanted[j];
			}
		}
		int64_t wait = next - now();
		struct timespec timeout = { 0, wait > 0 ?
						       (long)(wait < SECOND ? wait : SECOND - 1) :
						       0 };
		if (ppoll(files, (nfds_t)count, &timeout, NULL) <= 0)
			continue;
		time = now();
		for (int i = 0; i < count; i++) {
			struct flow *flow = &flows[owner[i]];
			if (files[i].revents == 0)
				continue;
			if (files[i].fd == flow->listener) {
				flow->receiver = checked(accept4(flow->listener, NULL, NULL,
								 SOCK_NONBLOCK | SOCK_CLOEXEC),
							 "accept");
				close(flow->listener);
				flow->listener = -1;
			} else if (files[i].fd == flow->receiver) {
				receive(flow, time >= from && time < to);
			} else {
				while (send(flow->sender, data, sizeof data, MSG_NOSIGNAL) > 0)
					;
			}
		}
	}
	// Connections end by a reset; what waits in the queue leaves it or is dropped.
	for (int i = 0; i < flow_count; i++) {
		struct linger linger = { 1, 0 };
		setsockopt(flows[i].sender, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
		close(flows[i].sender);
	}
	last_departure = now();
	while (now() - last_departure < SECOND) {
		usleep(20000);
		drain(meter_in, false);
		drain(meter_out, true);
	}
	check_meter(meter_in);
	check_meter(meter_out);
	report(from, to);
}

static void set_up_link(const char *name)
{
	static const uint32_t commands[] = { ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO };
	int file = checked(socket(AF_INET, SOCK_DGRAM, 0), "socket");
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
		struct ethtool_value value = { .cmd = commands[i], .data = 0 };
		struct ifreq request = { .ifr_data = (void *)&value };
		snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
		checked(ioctl(file, SIOCETHTOOL, &request), name);
	}
	close(file);
}

int main(int count, char **arguments)
{
	if (count == 3 && strcmp(arguments[1], "link") == 0) {
		set_up_link(arguments[2]);
		return 0;
	}
	if (count < 6 || strcmp(arguments[1], "run") != 0) {
		fprintf(stderr, "usage: traffic link NAME | traffic run SEED WARM_UP END FLOW…\n");
		return 2;
	}
	for (int i = 5; i < count; i++)
		parse(arguments[i]);
	run((unsigned)atoi(arguments[2]), atof(arguments[3]), atof(arguments[4]));
	return 0;
}
