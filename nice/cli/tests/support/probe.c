// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Opens TCP connections over loopback and tells which congestion control and DSCP field their
 * sockets have. It makes its system calls itself: no library could be put between.
 *
 *	probe once FAMILY	a listening socket, a client and the accepted one: tell, and end
 *	probe undo FAMILY	the same, after trying to set another control and another field
 *	probe hold FAMILY	tell, then again after each line of input, sending 100000 bytes first
 *	probe namespace		whether a new socket lives in the network namespace of the process
 *	probe owner		whether a new socket belongs to the user and group of the process
 *	probe ring		whether there is io_uring
 *	probe storm COUNT	opens COUNT sockets while a timer interrupts system calls: how many have
 *				which control, and the lowest descriptor that is free afterwards
 *
 *	probe refuse WHAT COMMAND	runs a command for which the kernel refuses `bpf`, the system
 *				call, `loading` of BPF programs, or the `list` of connections
 *
 *	probe part WHAT		does that in user and network namespaces of its own
 *	probe hide WHAT		does that unseen by other processes without privileges
 *	probe move DIRECTORY WHAT	does that in the cgroup of this directory
 *
 * FAMILY is 4, 6, or 46 for IPv4 over an IPv6 socket. Each socket is one line of output: role,
 * control, IP_TOS, IPV6_TCLASS.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <linux/sock_diag.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

enum { DATA = 100000 };

static void check(int ok, const char *what)
{
	if (!ok) {
		perror(what);
		exit(1);
	}
}

static int make_socket(int domain)
{
	int made = syscall(SYS_socket, domain, SOCK_STREAM | SOCK_CLOEXEC, 0);

	check(made >= 0, "socket");
	return made;
}

static void tell(const char *role, int socket, int domain)
{
	char control[17] = "";
	int field = -1, class = -1;
	socklen_t length = 16;

	check(!syscall(SYS_getsockopt, socket, IPPROTO_TCP, TCP_CONGESTION, control, &length),
	      "TCP_CONGESTION");
	length = sizeof(field);
	check(!syscall(SYS_getsockopt, socket, IPPROTO_IP, IP_TOS, &field, &length), "IP_TOS");
	length = sizeof(class);
	if (domain == AF_INET6)
		check(!syscall(SYS_getsockopt, socket, IPPROTO_IPV6, IPV6_TCLASS, &class, &length),
		      "IPV6_TCLASS");
	printf("%s %s %d %d\n", role, control, field, class);
}

/* Ends the program if a call is refused. */
static void try_undo(int socket, int domain)
{
	int field = 0x10;

	check(!syscall(SYS_setsockopt, socket, IPPROTO_TCP, TCP_CONGESTION, "reno", 4),
	      "set control");
	check(!syscall(SYS_setsockopt, socket, IPPROTO_IP, IP_TOS, &field, sizeof(field)),
	      "set TOS");
	if (domain == AF_INET6)
		check(!syscall(SYS_setsockopt, socket, IPPROTO_IPV6, IPV6_TCLASS, &field,
			       sizeof(field)),
		      "set class");
}

struct connection {
	int domain, listener, client, server;
};

static struct connection open_connection(const char *family, int undo)
{
	struct connection new = { .domain = strcmp(family, "4") ? AF_INET6 : AF_INET };
	struct sockaddr_in6 six = { .sin6_family = AF_INET6 };
	struct sockaddr_in four = { .sin_family = AF_INET };
	struct sockaddr *address = (void *)&four;
	socklen_t length = sizeof(four);

	four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (new.domain == AF_INET6) {
		address = (void *)&six;
		length = sizeof(six);
		inet_pton(AF_INET6, strcmp(family, "46") ? "::1" : "::ffff:127.0.0.1",
			  &six.sin6_addr);
	}
	new.listener = make_socket(new.domain);
	new.client = make_socket(new.domain);
	if (undo) {
		try_undo(new.listener, new.domain);
		try_undo(new.client, new.domain);
	}
	check(!syscall(SYS_bind, new.listener, address, length), "bind");
	check(!syscall(SYS_listen, new.listener, 8), "listen");
	check(!syscall(SYS_getsockname, new.listener, address, &length), "getsockname");
	check(!syscall(SYS_connect, new.client, address, length), "connect");
	new.server = syscall(SYS_accept4, new.listener, NULL, NULL, SOCK_CLOEXEC);
	check(new.server >= 0, "accept");
	if (undo) {
		try_undo(new.client, new.domain);
		try_undo(new.server, new.domain);
	}
	return new;
}

static void tell_all(const struct connection *one)
{
	tell("listener", one->listener, one->domain);
	tell("client", one->client, one->domain);
	tell("server", one->server, one->domain);
}

static void transfer(const struct connection *one)
{
	static char data[DATA];
	ssize_t done = 0;

	check(write(one->client, data, DATA) == DATA, "write");
	while (done < DATA) {
		ssize_t more = read(one->server, data, DATA);

		check(more > 0, "read");
		done += more;
	}
}

/* In a network namespace of its own the loopback device is down at first. */
static void raise_loopback(void)
{
	struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int any = syscall(SYS_socket, AF_INET, SOCK_DGRAM, 0);

	/* Elsewhere it is up, and only root may say so. */
	ioctl(any, SIOCSIFFLAGS, &request);
	close(any);
}

static void hold(const char *family)
{
	struct connection old;
	char line[64];

	raise_loopback();
	old = open_connection(family, 0);
	tell_all(&old);
	puts("end");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		struct connection new = open_connection(family, 0);

		transfer(&old);
		tell_all(&old);
		tell("new-client", new.client, new.domain);
		tell("new-server", new.server, new.domain);
		puts("end");
		fflush(stdout);
		close(new.client);
		close(new.server);
		close(new.listener);
	}
}

static void tell_namespace(void)
{
	int made = make_socket(AF_INET), namespace = ioctl(made, SIOCGSKNS);
	struct stat ours, its;

	check(namespace >= 0, "SIOCGSKNS");
	check(!stat("/proc/self/ns/net", &ours) && !fstat(namespace, &its), "stat");
	puts(ours.st_ino == its.st_ino ? "same" : "another");
	tell("client", made, AF_INET);
}

static void tell_owner(void)
{
	int made = make_socket(AF_INET);
	struct stat its;

	check(!fstat(made, &its), "stat");
	puts(its.st_uid == geteuid() && its.st_gid == getegid() ? "own" : "foreign");
	tell("client", made, AF_INET);
}

static void ignore(int signal)
{
	(void)signal;
}

static void storm(int count)
{
	/* Without SA_RESTART. */
	struct sigaction action = { .sa_handler = ignore };
	struct itimerval often = { { 0, 300 }, { 0, 300 } }, never = {};
	char first[17] = "";
	int alike = 0;

	syscall(SYS_close_range, 3, ~0U, 0); /* inherited ones would be counted */
	check(!sigaction(SIGALRM, &action, NULL), "sigaction");
	check(!setitimer(ITIMER_REAL, &often, NULL), "setitimer");
	for (int opened = 0; opened < count; opened++) {
		char control[17] = "";
		socklen_t length = 16;
		int made;

		do
			made = syscall(SYS_socket, AF_INET, SOCK_STREAM, 0);
		while (made < 0 && errno == EINTR);
		check(made >= 0, "socket");
		check(!syscall(SYS_getsockopt, made, IPPROTO_TCP, TCP_CONGESTION, control, &length),
		      "TCP_CONGESTION");
		if (!opened)
			strcpy(first, control);
		alike += !strcmp(first, control);
	}
	check(!setitimer(ITIMER_REAL, &never, NULL), "setitimer");
	printf("%d %s, %d descriptors\n", alike, first, dup(0) - 3);
}

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define UNLESS(value, skip) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skip)
#define ANSWER(errno) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (errno))
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* Makes one system call fail as it does on kernels that refuse it, then runs a command. */
static void refuse(const char *what, char **command)
{
	struct sock_filter bpf[] = {
		LOAD(nr),
		UNLESS(SYS_bpf, 1),
		ANSWER(EPERM),
		ALLOW,
	};
	/* The lower half of an argument comes first: all machines that netnice runs on are so. */
	struct sock_filter list[] = {
		LOAD(nr),
		UNLESS(SYS_socket, 5),
		LOAD(args[0]),
		UNLESS(AF_NETLINK, 3),
		LOAD(args[2]),
		UNLESS(NETLINK_SOCK_DIAG, 1),
		ANSWER(EPROTONOSUPPORT),
		ALLOW,
	};
	struct sock_filter loading[] = {
		LOAD(nr),      UNLESS(SYS_bpf, 3),
		LOAD(args[0]), UNLESS(BPF_PROG_LOAD, 1),
		ANSWER(EPERM), ALLOW,
	};
	struct sock_fprog program = {};

#define REFUSAL(name)                                                                              \
	{                                                                                          \
#name,                                                                             \
		{                                                                                  \
			sizeof(name) / sizeof(*name), name                                         \
		}                                                                                  \
	}
	struct {
		const char *name;
		struct sock_fprog program;
	} refusals[] = { REFUSAL(bpf), REFUSAL(list), REFUSAL(loading) };

	for (size_t i = 0; i < sizeof(refusals) / sizeof(*refusals); i++)
		if (!strcmp(what, refusals[i].name))
			program = refusals[i].program;
	check(program.len, "refuse: bpf, list or loading");

	check(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "PR_SET_NO_NEW_PRIVS");
	check(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), "PR_SET_SECCOMP");
	execvp(*command, command);
	check(0, *command);
}

static void move(const char *cgroup)
{
	int directory = open(cgroup, O_DIRECTORY | O_CLOEXEC);
	int processes = openat(directory, "cgroup.procs", O_WRONLY | O_CLOEXEC);

	check(write(processes, "0", 1) == 1, "cgroup.procs");
	close(processes);
	close(directory);
}

int main(int count, char **words)
{
	const char *what, *family;

	for (; count > 1; count--, words++) {
		if (!strcmp(words[1], "part"))
			check(!unshare(CLONE_NEWUSER | CLONE_NEWNET), "unshare");
		else if (!strcmp(words[1], "hide"))
			check(!prctl(PR_SET_DUMPABLE, 0), "PR_SET_DUMPABLE");
		else if (!strcmp(words[1], "move") && count > 2)
			move(*(++words + 1)), count--;
		else
			break;
	}
	what = count > 1 ? words[1] : "";
	if (!strcmp(what, "refuse") && count > 3)
		refuse(words[2], words + 3);
	family = count > 2 ? words[2] : "4";
	if (!strcmp(what, "hold")) {
		hold(family);
	} else if (!strcmp(what, "namespace")) {
		tell_namespace();
	} else if (!strcmp(what, "owner")) {
		tell_owner();
	} else if (!strcmp(what, "storm")) {
		storm(atoi(family));
	} else if (!strcmp(what, "ring")) {
		char parameters[256] = "";

		puts(syscall(425, 1, parameters) < 0 && errno == ENOSYS ? "no ring" : "ring");
	} else {
		struct connection one = open_connection(family, !strcmp(what, "undo"));

		tell_all(&one);
	}
	return 0;
}
