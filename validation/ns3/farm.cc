// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The scenarios of validation/farm with ns-3: TCP flows or web sessions over one bottleneck, each flow between hosts of its own.
//
// farm --flows=10 --seconds=100    prints one line of JSON

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include "common.h"

using namespace ns3;

static const uint16_t PORT = 80;
// Bytes of each packet that a trace keeps.
static const uint32_t SNAP_BYTES = 80;

// Delays each packet at random on top of the propagation, uniformly up to a limit; packets may overtake each other.
class JitterChannel : public PointToPointChannel
{
      public:
	explicit JitterChannel(double limit) : m_limit(limit)
	{
	}

	bool TransmitStart(Ptr<const Packet> packet, Ptr<PointToPointNetDevice> from,
			   Time transmission) override
	{
		const Ptr<PointToPointNetDevice> to = GetDestination(GetSource(0) == from ? 0 : 1);
		const Time delay =
			transmission + GetDelay() + Seconds(m_draw->GetValue(0, m_limit));
		Simulator::ScheduleWithContext(to->GetNode()->GetId(), delay,
					       &PointToPointNetDevice::Receive, to, packet->Copy());
		return true;
	}

      private:
	double m_limit;
	Ptr<UniformRandomVariable> m_draw = CreateObject<UniformRandomVariable>();
};

// Sessions that fetch page after page, each object over a connection of its own, as validation/ns2/web.tcl does.
struct Web {
	uint32_t object_bytes = 12000;
	double shape = 1.2;
	double max_bytes = 1e6;
	uint32_t objects = 10;
	double page_gap = 1;
	double object_gap = 0.001;
	uint32_t request_bytes = 300;
	Ptr<UniformRandomVariable> draw = CreateObject<UniformRandomVariable>();

	struct Session {
		Ptr<Node> client;
		uint32_t pending;
	};
	std::vector<std::unique_ptr<Session>> sessions;
	std::vector<Address> servers;

	double exponential(double mean)
	{
		return -mean * std::log(1 - draw->GetValue(0, 1));
	}

	void serve(const Ptr<Node> &node, Ipv4Address address)
	{
		servers.push_back(InetSocketAddress(address, PORT));
		const Ptr<Socket> listener =
			Socket::CreateSocket(node, TcpSocketFactory::GetTypeId());
		listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), PORT));
		listener->Listen();
		listener->SetAcceptCallback(
			MakeNullCallback<bool, Ptr<Socket>, const Address &>(),
			Callback<void, Ptr<Socket>, const Address &>(
				[this](Ptr<Socket> socket, const Address &) {
					socket->SetRecvCallback(Callback<void, Ptr<Socket>>(
						[this](Ptr<Socket> from) { respond(from); }));
				}));
	}

	// At its end a connection gives empty packets for ever.
	static uint32_t take(const Ptr<Socket> &socket)
	{
		uint32_t bytes = 0;
		for (auto packet = socket->Recv(); packet && packet->GetSize() > 0;
		     packet = socket->Recv()) {
			bytes += packet->GetSize();
		}
		return bytes;
	}

	void respond(const Ptr<Socket> &socket)
	{
		if (take(socket) == 0) {
			return;
		}
		const double least = object_bytes * (shape - 1) / shape;
		const double bytes = least / std::pow(1 - draw->GetValue(0, 1), 1 / shape);
		socket->Send(Create<Packet>(
			static_cast<uint32_t>(std::ceil(std::min(bytes, max_bytes)))));
		socket->Close();
	}

	void begin(const Ptr<Node> &client)
	{
		sessions.push_back(std::make_unique<Session>(Session{ client, 0 }));
		Session *session = sessions.back().get();
		Simulator::Schedule(Seconds(exponential(page_gap)),
				    [this, session] { page(session); });
	}

	void page(Session *session)
	{
		const Address server = servers[draw->GetInteger(0, servers.size() - 1)];
		session->pending = objects;
		double when = 0;
		for (uint32_t object = 0; object < objects; ++object) {
			Simulator::Schedule(Seconds(when),
					    [this, session, server] { fetch(session, server); });
			when += exponential(object_gap);
		}
	}

	void fetch(Session *session, const Address &server)
	{
		const Ptr<Socket> socket =
			Socket::CreateSocket(session->client, TcpSocketFactory::GetTypeId());
		const auto open = std::make_shared<bool>(true);
		const auto done = [this, session, open](Ptr<Socket> closed) {
			take(closed);
			if (!std::exchange(*open, false)) {
				return;
			}
			closed->Close();
			if (--session->pending == 0) {
				Simulator::Schedule(Seconds(exponential(page_gap)),
						    [this, session] { page(session); });
			}
		};
		socket->SetRecvCallback(
			Callback<void, Ptr<Socket>>([](Ptr<Socket> from) { take(from); }));
		socket->SetCloseCallbacks(Callback<void, Ptr<Socket>>(done),
					  Callback<void, Ptr<Socket>>(done));
		socket->Bind();
		socket->Connect(server);
		socket->Send(Create<Packet>(request_bytes));
	}
};

int main(int argc, char **argv)
{
	uint32_t flows = 2;
	uint32_t reverse = 0;
	uint32_t sessions = 0;
	uint32_t object_bytes = 12000;
	double rate = 10e6;
	double delay = 0.02;
	double access_delay = 0.002;
	double step = 0;
	double jitter = 0;
	uint32_t queue = 149;
	std::string discipline_name;
	std::string attributes;
	bool sack = false;
	std::string series_name;
	std::string packets_name;
	double warmup = 20;
	double seconds = 100;
	uint32_t seed = 1;
	CommandLine arguments(__FILE__);
	arguments.AddValue("flows", "TCP flows from left to right", flows);
	arguments.AddValue("reverse", "TCP flows from right to left", reverse);
	arguments.AddValue("sessions", "web sessions, and as many servers", sessions);
	arguments.AddValue("object", "mean size of their objects, bytes", object_bytes);
	arguments.AddValue("rate", "rate of the bottleneck, bit/s", rate);
	arguments.AddValue("delay", "propagation of the bottleneck, s", delay);
	arguments.AddValue("access_delay", "propagation of the access links, s", access_delay);
	arguments.AddValue("step", "propagation of each further sender's link on top, s", step);
	arguments.AddValue("jitter", "random delay on access links, up to so many s", jitter);
	arguments.AddValue("queue", "drop-tail queue of the bottleneck, packets", queue);
	arguments.AddValue("discipline", "TypeId of a queue discipline instead", discipline_name);
	arguments.AddValue("attributes", "its attributes: NAME=VALUE,NAME=VALUE", attributes);
	arguments.AddValue("sack", "selective acknowledgements", sack);
	arguments.AddValue("series", "file for queue and windows every 100 ms", series_name);
	arguments.AddValue("packets", "pcap file for packets from left to right", packets_name);
	arguments.AddValue("warmup", "seconds before throughput counts", warmup);
	arguments.AddValue("seconds", "length of the run", seconds);
	arguments.AddValue("seed", "run number of ns-3's random numbers", seed);
	arguments.Parse(argc, argv);

	RngSeedManager::SetRun(seed);
	TcpSettings tcp;
	tcp.control = "ns3::TcpNewReno";
	tcp.initial_window = 2;
	tcp.tick_ms = 10;
	tcp.sack = sack;
	configure_tcp(tcp);

	NodeContainer routers(2);
	InternetStackHelper stack;
	stack.Install(routers);
	PointToPointHelper bottleneck;
	// Without flow control the helper for addresses adds no discipline of its own.
	if (discipline_name.empty()) {
		bottleneck.DisableFlowControl();
	}
	bottleneck.SetDeviceAttribute("DataRate", DataRateValue(with_ppp(rate)));
	bottleneck.SetChannelAttribute("Delay", TimeValue(Seconds(delay)));
	// The least that ns-3 can: one packet waits behind a discipline.
	const std::string limit = discipline_name.empty() ? std::to_string(queue) + "p" : "1p";
	bottleneck.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue(limit));
	const NetDeviceContainer devices = bottleneck.Install(routers);
	if (!discipline_name.empty()) {
		TrafficControlHelper forward, backward;
		forward.SetRootQueueDisc(discipline_name);
		backward.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize",
					  StringValue(std::to_string(queue) + "p"));
		configure(forward.Install(devices.Get(0)).Get(0), attributes);
		backward.Install(devices.Get(1));
	}
	const auto left = DynamicCast<PointToPointNetDevice>(devices.Get(0));
	const auto right = DynamicCast<PointToPointNetDevice>(devices.Get(1));

	Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
	addresses.Assign(devices);
	addresses.NewNetwork();
	// A host on a link of its own to a router, and its address.
	const auto host = [&](const Ptr<Node> &router, double further = 0) {
		const Ptr<Node> node = CreateObject<Node>();
		stack.Install(node);
		Ptr<PointToPointChannel> channel;
		if (jitter > 0) {
			channel = CreateObject<JitterChannel>(jitter);
		} else {
			channel = CreateObject<PointToPointChannel>();
		}
		channel->SetAttribute("Delay", TimeValue(Seconds(access_delay + further)));
		NetDeviceContainer ends;
		for (const auto &end : { router, node }) {
			const auto device = CreateObjectWithAttributes<PointToPointNetDevice>(
				"DataRate", DataRateValue(with_ppp(100e6)));
			device->SetAddress(Mac48Address::Allocate());
			end->AddDevice(device);
			device->SetQueue(CreateObjectWithAttributes<DropTailQueue<Packet>>(
				"MaxSize", StringValue("100000p")));
			device->Attach(channel);
			ends.Add(device);
		}
		const auto interfaces = addresses.Assign(ends);
		addresses.NewNetwork();
		return std::make_pair(node, interfaces.GetAddress(1));
	};

	auto start = CreateObject<UniformRandomVariable>();
	std::vector<Ptr<BulkSendApplication>> sources;
	std::vector<Ptr<PacketSink>> sinks;
	const auto flow = [&](const Ptr<Node> &from, const Ptr<Node> &to, double further) {
		const auto sender = host(from, further);
		const auto [receiver, address] = host(to);
		PacketSinkHelper sink("ns3::TcpSocketFactory",
				      InetSocketAddress(Ipv4Address::GetAny(), PORT));
		const auto its_sink = DynamicCast<PacketSink>(sink.Install(receiver).Get(0));
		BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(address, PORT));
		bulk.SetAttribute("SendSize", UintegerValue(DATA_BYTES));
		ApplicationContainer source = bulk.Install(sender.first);
		source.Start(Seconds(start->GetValue(0, 1)));
		return std::make_pair(DynamicCast<BulkSendApplication>(source.Get(0)), its_sink);
	};
	for (uint32_t number = 0; number < flows; ++number) {
		const auto [source, sink] = flow(routers.Get(0), routers.Get(1), number * step);
		sources.push_back(source);
		sinks.push_back(sink);
	}
	for (uint32_t number = 0; number < reverse; ++number) {
		flow(routers.Get(1), routers.Get(0), 0);
	}

	Web web;
	web.object_bytes = object_bytes;
	uint64_t link_bytes = 0;
	for (uint32_t session = 0; session < sessions; ++session) {
		const auto [server, address] = host(routers.Get(0));
		web.serve(server, address);
		web.begin(host(routers.Get(1)).first);
	}
	if (sessions > 0) {
		right->TraceConnectWithoutContext(
			"PhyRxEnd",
			Callback<void, Ptr<const Packet>>([&](Ptr<const Packet> packet) {
				link_bytes += packet->GetSize() - PPP_BYTES;
			}));
	}
	Ipv4GlobalRoutingHelper::PopulateRoutingTables();

	if (!packets_name.empty()) {
		PcapHelper pcap;
		const auto file = pcap.CreateFile(packets_name, std::ios::out, PcapHelper::DLT_PPP,
						  SNAP_BYTES);
		pcap.HookDefaultSink<PointToPointNetDevice>(right, "PhyRxEnd", file);
	}
	std::ofstream series;
	std::vector<uint32_t> windows(flows);
	std::function<void()> sample = [&] {
		series << Simulator::Now().GetSeconds() << ' ' << left->GetQueue()->GetNPackets();
		for (const uint32_t window : windows) {
			series << ' ' << window;
		}
		series << '\n';
		Simulator::Schedule(MilliSeconds(100), [&] { sample(); });
	};
	if (!series_name.empty()) {
		series.open(series_name);
		// A source has its socket once it has begun.
		Simulator::Schedule(Seconds(1.001), [&] {
			for (uint32_t number = 0; number < flows; ++number) {
				sources[number]->GetSocket()->TraceConnectWithoutContext(
					"CongestionWindow",
					Callback<void, uint32_t, uint32_t>(
						[&windows, number](uint32_t, uint32_t now) {
							windows[number] = now;
						}));
			}
		});
		Simulator::Schedule(Seconds(0), [&] { sample(); });
	}

	const auto received = [&] {
		uint64_t bytes = 0;
		for (const auto &sink : sinks) {
			bytes += sink->GetTotalRx();
		}
		return bytes * PACKET_BYTES / DATA_BYTES + link_bytes;
	};
	uint64_t before = 0;
	Simulator::Schedule(Seconds(warmup), [&] { before = received(); });
	Simulator::Stop(Seconds(seconds));
	Simulator::Run();
	std::printf("{\"seed\":%u,\"link_bps\":%.0f}\n", seed,
		    (received() - before) * 8.0 / (seconds - warmup));
	Simulator::Destroy();
}
