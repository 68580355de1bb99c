// SPDX-License-Identifier: MIT OR Apache-2.0
//
// TCP flows over one bottleneck with ns-3, each between its own hosts, to measure ns-3's speed and throughput.
//
// dumbbell --flows=2 --rate=10Mbps --seconds=100    prints one line of JSON

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"

using namespace ns3;

int main(int argc, char **argv)
{
	uint32_t flows = 2;
	std::string rate = "10Mbps";
	std::string queue = "150p";
	double seconds = 100;
	double warmup = 20;
	uint32_t seed = 1;
	std::string control =
		"ns3::TcpNewReno"; // ns-3 has no Reno without partial ACKs, but SACK can be switched off.
	bool sack = false;
	CommandLine arguments(__FILE__);
	arguments.AddValue("flows", "number of flows", flows);
	arguments.AddValue("rate", "rate of the bottleneck", rate);
	arguments.AddValue("queue", "drop-tail queue of the bottleneck", queue);
	arguments.AddValue("seconds", "length of the run", seconds);
	arguments.AddValue("warmup", "seconds before throughput counts", warmup);
	arguments.AddValue("seed", "run number of ns-3's random numbers", seed);
	arguments.AddValue("control", "TypeId of the congestion control", control);
	arguments.AddValue("sack", "selective acknowledgements", sack);
	arguments.Parse(argc, argv);

	RngSeedManager::SetRun(seed);
	// As in the scripts for ns-2: 1000 bytes of data in a packet, initial window 2, an ACK for each packet.
	Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue(control));
	Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1000));
	Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(2));
	Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
	Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(4 << 20));
	Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(4 << 20));
	Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(sack));
	Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));

	const auto began = std::chrono::steady_clock::now();
	NodeContainer routers(2);
	InternetStackHelper stack;
	stack.Install(routers);
	PointToPointHelper access;
	access.SetDeviceAttribute("DataRate", StringValue("100Mbps"));
	access.SetChannelAttribute("Delay", StringValue("2ms"));
	access.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("100000p"));
	// Else a helper puts FQ-CoDel in front of each device, and the queue of the bottleneck never fills.
	access.DisableFlowControl();
	PointToPointHelper bottleneck;
	bottleneck.SetDeviceAttribute("DataRate", StringValue(rate));
	bottleneck.SetChannelAttribute("Delay", StringValue("20ms"));
	bottleneck.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue(queue));
	bottleneck.DisableFlowControl();

	Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
	const auto connect = [&](PointToPointHelper &link, Ptr<Node> from, Ptr<Node> to) {
		const auto interfaces = addresses.Assign(link.Install(from, to));
		addresses.NewNetwork();
		return interfaces.GetAddress(1);
	};
	connect(bottleneck, routers.Get(0), routers.Get(1));

	auto start = CreateObject<UniformRandomVariable>();
	std::vector<Ptr<PacketSink>> sinks;
	for (uint32_t flow = 0; flow < flows; ++flow) {
		NodeContainer hosts(2);
		stack.Install(hosts);
		connect(access, routers.Get(0), hosts.Get(0));
		const auto address = connect(access, routers.Get(1), hosts.Get(1));
		PacketSinkHelper sink("ns3::TcpSocketFactory",
				      InetSocketAddress(Ipv4Address::GetAny(), 80));
		sinks.push_back(DynamicCast<PacketSink>(sink.Install(hosts.Get(1)).Get(0)));
		BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(address, 80));
		source.SetAttribute("SendSize", UintegerValue(1000));
		source.Install(hosts.Get(0)).Start(Seconds(start->GetValue(0, 1)));
	}
	Ipv4GlobalRoutingHelper::PopulateRoutingTables();

	std::vector<uint64_t> before(flows);
	Simulator::Schedule(Seconds(warmup), [&] {
		for (uint32_t flow = 0; flow < flows; ++flow) {
			before[flow] = sinks[flow]->GetTotalRx();
		}
	});
	Simulator::Stop(Seconds(seconds));
	const auto ready = std::chrono::steady_clock::now();
	Simulator::Run();
	const auto ended = std::chrono::steady_clock::now();

	const auto elapsed = [](auto from, auto to) {
		return std::chrono::duration<double>(to - from).count();
	};
	uint64_t received = 0;
	double measured = 0;
	for (uint32_t flow = 0; flow < flows; ++flow) {
		received += sinks[flow]->GetTotalRx();
		measured += (sinks[flow]->GetTotalRx() - before[flow]) * 8.0;
	}
	std::printf("{\"seed\":%u,\"goodput_bps\":%.0f,\"packets\":%llu,\"setup_s\":%.3f,\"run_s\":"
		    "%.3f}\n",
		    seed, measured / (seconds - warmup),
		    static_cast<unsigned long long>(received / 1000), elapsed(began, ready),
		    elapsed(ready, ended));
	Simulator::Destroy();
}
