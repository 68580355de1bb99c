// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Shared by the programs for ns-3: packets, TCP as in the simulator's scenarios, and settings of a queue discipline.

#pragma once

#include <cstdint>
#include <sstream>
#include <string>

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/traffic-control-module.h"

// Data in a packet, and what is on the link for it: headers without options, and two bytes of PPP.
static const uint32_t DATA_BYTES = 1000;
static const uint32_t PACKET_BYTES = DATA_BYTES + 40;
static const uint32_t PPP_BYTES = 2;

// The rate of a device that sends packets at `bits` without their PPP.
static inline ns3::DataRate with_ppp(double bits)
{
	return ns3::DataRate(
		static_cast<uint64_t>(bits * (PACKET_BYTES + PPP_BYTES) / PACKET_BYTES));
}

struct TcpSettings {
	std::string control;
	std::string recovery = "ns3::TcpClassicRecovery";
	uint32_t initial_window;
	uint32_t tick_ms;
	uint32_t min_rto_ms = 200;
	bool sack;
	bool timestamps = false;
};

static inline void configure_tcp(const TcpSettings &tcp)
{
	using namespace ns3;
	Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue(tcp.control));
	Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", StringValue(tcp.recovery));
	Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(DATA_BYTES));
	Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(tcp.initial_window));
	Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
	Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(4 << 20));
	Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(4 << 20));
	Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(tcp.sack));
	Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(tcp.timestamps));
	Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(tcp.min_rto_ms)));
	Config::SetDefault("ns3::TcpSocketBase::ClockGranularity",
			   TimeValue(MilliSeconds(tcp.tick_ms)));
	// ns-3 compares with "less than", RFC 8289 with "at most" the largest packet.
	Config::SetDefault("ns3::CoDelQueueDisc::MinBytes", UintegerValue(PACKET_BYTES + 1));
}

// Calls `set` with name and value of each entry of NAME=VALUE,NAME=VALUE.
template <class Set> static inline void for_each_setting(const std::string &settings, Set set)
{
	std::istringstream list(settings);
	std::string entry;
	while (std::getline(list, entry, ',')) {
		const auto equals = entry.find('=');
		set(entry.substr(0, equals), entry.substr(equals + 1));
	}
}

// Sets NAME=VALUE,NAME=VALUE of the discipline. The quantum of flow queues is not an attribute.
static inline void configure(const ns3::Ptr<ns3::QueueDisc> &discipline,
			     const std::string &attributes)
{
	for_each_setting(attributes, [&](const std::string &name, const std::string &value) {
		if (name != "Quantum") {
			discipline->SetAttribute(name, ns3::StringValue(value));
		} else if (const auto codel = ns3::DynamicCast<ns3::FqCoDelQueueDisc>(discipline)) {
			codel->SetQuantum(std::stoul(value));
		} else {
			ns3::DynamicCast<ns3::FqCobaltQueueDisc>(discipline)
				->SetQuantum(std::stoul(value));
		}
	});
}
