// SPDX-License-Identifier: MIT OR Apache-2.0
//
// TCP flows, and a flow of constant rate that does not respond, over a bottleneck with one of ns-3's queue disciplines.
//
// queues --discipline=ns3::CoDelQueueDisc --attributes=UseEcn=true --flows=5    prints one line of JSON

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <string>
#include <unordered_map>
#include <vector>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include "common.h"

using namespace ns3;

static const uint32_t UDP_HEADERS = 28;

// ns-3's controls reduce what is in flight without what was SACKed, which is less than the FlightSize of RFC 5681. These
// reduce the window, as Linux and the simulator do: FromWindow::TcpLp is ns3::TcpLp but for that.
template <class Control> class FromWindow : public Control
{
      public:
	static TypeId GetTypeId()
	{
		const std::string name = Control::GetTypeId().GetName();
		static TypeId id = TypeId("FromWindow" + name.substr(name.find("::")))
					   .template SetParent<Control>()
					   .template AddConstructor<FromWindow<Control>>();
		return id;
	}

	uint32_t GetSsThresh(Ptr<const TcpSocketState> state, uint32_t in_flight) override
	{
		(void)in_flight;
		return Control::GetSsThresh(state, state->m_cWnd);
	}

	Ptr<TcpCongestionOps> Fork() override
	{
		return CopyObject<FromWindow<Control>>(this);
	}
};

// ns-3's Reno rounds each step down to whole bytes: at 120 packets of 1000 bytes 8 of 8.33. This keeps the rest for the
// next step.
class InFractions : public TcpNewReno
{
      public:
	static TypeId GetTypeId()
	{
		static TypeId id = TypeId("InFractions::TcpReno")
					   .SetParent<TcpNewReno>()
					   .AddConstructor<InFractions>();
		return id;
	}

      protected:
	void CongestionAvoidance(Ptr<TcpSocketState> state, uint32_t acked) override
	{
		if (acked == 0) {
			return;
		}
		const double segment = state->m_segmentSize;
		rest += segment * segment / state->m_cWnd.Get();
		const auto whole = static_cast<uint32_t>(rest);
		rest -= whole;
		state->m_cWnd += whole;
	}

      private:
	double rest = 0;
};

// ns-3.37's LEDBAT bounds the window by what was in flight before the ACK, so that it never grows. RFC 6817 section 2.4.2
// allows ALLOWED_INCREASE more: a packet.
class AllowsIncrease : public TcpLedbat
{
      public:
	static TypeId GetTypeId()
	{
		static TypeId id = TypeId("AllowsIncrease::TcpLedbat")
					   .SetParent<TcpLedbat>()
					   .AddConstructor<AllowsIncrease>();
		return id;
	}

	void IncreaseWindow(Ptr<TcpSocketState> state, uint32_t acked) override
	{
		const SequenceNumber32 sent = state->m_highTxMark;
		state->m_highTxMark = sent + state->m_segmentSize;
		TcpLedbat::IncreaseWindow(state, acked);
		state->m_highTxMark = sent;
	}
};

using Reno = FromWindow<InFractions>;
using HighSpeed = FromWindow<TcpHighSpeed>;
using Ledbat = FromWindow<AllowsIncrease>;
using LowPriority = FromWindow<TcpLp>;
NS_OBJECT_ENSURE_REGISTERED(Reno);
NS_OBJECT_ENSURE_REGISTERED(HighSpeed);
NS_OBJECT_ENSURE_REGISTERED(Ledbat);
NS_OBJECT_ENSURE_REGISTERED(LowPriority);

// Times that packets spend in the queue discipline. Packets it drops after it took them count in no time.
struct Waits {
	std::unordered_map<uint64_t, Time> arrived;
	std::vector<double> seconds;
	uint64_t sent = 0;
	bool measuring = false;

	void arrive(Ptr<const QueueDiscItem> item)
	{
		arrived[item->GetPacket()->GetUid()] = Simulator::Now();
	}

	void leave(Ptr<const Packet> packet)
	{
		const auto found = arrived.find(packet->GetUid());
		if (found == arrived.end()) {
			return;
		}
		if (measuring) {
			seconds.push_back((Simulator::Now() - found->second).GetSeconds());
		}
		arrived.erase(found);
	}

	void drop(Ptr<const QueueDiscItem> item)
	{
		arrived.erase(item->GetPacket()->GetUid());
	}
};

// The counters of the discipline.
struct Counts {
	uint64_t arrived;
	uint64_t dropped;
	uint64_t marked;
};

static Counts counts_of(const Ptr<QueueDisc> &discipline)
{
	const QueueDisc::Stats &stats = discipline->GetStats();
	return { stats.nTotalReceivedPackets, stats.nTotalDroppedPackets,
		 stats.nTotalMarkedPackets };
}

int main(int argc, char **argv)
{
	uint32_t flows = 1;
	std::string discipline_name = "ns3::CoDelQueueDisc";
	std::string attributes;
	std::string control = "FromWindow::TcpReno";
	uint32_t second = 0;
	std::string second_control = control;
	std::string defaults;
	std::string recovery = "ns3::TcpClassicRecovery";
	double rate = 10e6;
	double device = 0;
	double udp = 0;
	double seconds = 40;
	double warmup = 10;
	uint32_t seed = 1;
	uint32_t delay_us = 20300;
	uint32_t delay_step_ms = 0;
	bool ecn = false;
	bool sack = true;
	bool timestamps = false;
	CommandLine arguments(__FILE__);
	arguments.AddValue("discipline", "TypeId of the queue discipline", discipline_name);
	arguments.AddValue("attributes", "its attributes: NAME=VALUE,NAME=VALUE", attributes);
	arguments.AddValue("control", "TypeId of the congestion control", control);
	arguments.AddValue("recovery", "TypeId of the loss recovery", recovery);
	arguments.AddValue("flows", "number of TCP flows", flows);
	arguments.AddValue("second", "number of TCP flows of a second control", second);
	arguments.AddValue("second_control", "TypeId of the second control", second_control);
	arguments.AddValue("defaults", "of TypeIds: NAME=VALUE,NAME=VALUE", defaults);
	arguments.AddValue("udp", "rate of the constant rate, bit/s with headers; 0 is none", udp);
	arguments.AddValue("rate", "rate of the bottleneck, bit/s", rate);
	arguments.AddValue("device",
			   "rate of the device behind a shaper; 0 is that of the bottleneck",
			   device);
	arguments.AddValue("delay", "propagation delay of the bottleneck, us", delay_us);
	arguments.AddValue("delay_step",
			   "delay that the link of each TCP source has beyond the one before, ms",
			   delay_step_ms);
	arguments.AddValue("seconds", "length of the run", seconds);
	arguments.AddValue("warmup", "seconds before figures count", warmup);
	arguments.AddValue("seed", "run number of ns-3's random numbers", seed);
	arguments.AddValue("ecn", "TCP with ECN", ecn);
	arguments.AddValue("sack", "selective acknowledgements", sack);
	arguments.AddValue("timestamps", "TCP timestamps", timestamps);
	arguments.Parse(argc, argv);

	RngSeedManager::SetRun(seed);
	TcpSettings tcp;
	tcp.control = control;
	tcp.recovery = recovery;
	tcp.initial_window = 10;
	tcp.tick_ms = 1;
	tcp.min_rto_ms = 1000;
	tcp.sack = sack;
	tcp.timestamps = timestamps;
	configure_tcp(tcp);
	for_each_setting(defaults, [](const std::string &name, const std::string &value) {
		Config::SetDefault(name, StringValue(value));
	});
	Config::SetDefault("ns3::TcpSocketBase::UseEcn",
			   EnumValue(ecn ? TcpSocketState::On : TcpSocketState::Off));

	NodeContainer routers(2);
	InternetStackHelper stack;
	stack.Install(routers);
	PointToPointHelper access;
	// Without flow control the helper for addresses adds no discipline of its own.
	access.DisableFlowControl();
	access.SetDeviceAttribute("DataRate", DataRateValue(with_ppp(100e6)));
	access.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("100000p"));
	PointToPointHelper bottleneck;
	bottleneck.SetDeviceAttribute("DataRate",
				      DataRateValue(with_ppp(device > 0 ? device : rate)));
	bottleneck.SetChannelAttribute("Delay", TimeValue(MicroSeconds(delay_us)));
	// The least that ns-3 can: one packet waits behind the discipline.
	bottleneck.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1p"));

	const NetDeviceContainer devices = bottleneck.Install(routers);
	TrafficControlHelper forward, backward;
	forward.SetRootQueueDisc(discipline_name);
	backward.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", StringValue("100000p"));
	const Ptr<QueueDisc> discipline = forward.Install(devices.Get(0)).Get(0);
	backward.Install(devices.Get(1));
	configure(discipline, attributes);

	Waits waits;
	discipline->TraceConnectWithoutContext("Enqueue", MakeCallback(&Waits::arrive, &waits));
	discipline->TraceConnectWithoutContext("Drop", MakeCallback(&Waits::drop, &waits));
	DynamicCast<PointToPointNetDevice>(devices.Get(0))
		->GetQueue()
		->TraceConnectWithoutContext("Enqueue", MakeCallback(&Waits::leave, &waits));

	Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
	addresses.Assign(devices);
	addresses.NewNetwork();
	const auto connect = [&](Ptr<Node> from, Ptr<Node> to, uint32_t milliseconds) {
		access.SetChannelAttribute("Delay", TimeValue(MilliSeconds(milliseconds)));
		const auto interfaces = addresses.Assign(access.Install(from, to));
		addresses.NewNetwork();
		return interfaces.GetAddress(1);
	};
	std::vector<Ptr<PacketSink>> sinks;
	const auto hosts_of_a_flow = [&](const std::string &factory, uint32_t milliseconds) {
		NodeContainer hosts(2);
		stack.Install(hosts);
		connect(routers.Get(0), hosts.Get(0), milliseconds);
		const auto address = connect(routers.Get(1), hosts.Get(1), 2);
		PacketSinkHelper sink(factory, InetSocketAddress(Ipv4Address::GetAny(), 80));
		sinks.push_back(DynamicCast<PacketSink>(sink.Install(hosts.Get(1)).Get(0)));
		return std::make_pair(hosts.Get(0), InetSocketAddress(address, 80));
	};
	auto start = CreateObject<UniformRandomVariable>();
	for (uint32_t flow = 0; flow < flows + second; ++flow) {
		const auto [host, address] =
			hosts_of_a_flow("ns3::TcpSocketFactory", 2 + flow * delay_step_ms);
		if (flow >= flows) {
			host->GetObject<TcpL4Protocol>()->SetAttribute(
				"SocketType", TypeIdValue(TypeId::LookupByName(second_control)));
		}
		BulkSendHelper source("ns3::TcpSocketFactory", address);
		source.SetAttribute("SendSize", UintegerValue(DATA_BYTES));
		source.Install(host).Start(Seconds(start->GetValue(0, 1)));
	}
	if (udp > 0) {
		const auto [host, address] = hosts_of_a_flow("ns3::UdpSocketFactory", 2);
		UdpClientHelper source(address.GetIpv4(), address.GetPort());
		source.SetAttribute("PacketSize", UintegerValue(PACKET_BYTES - UDP_HEADERS));
		source.SetAttribute("Interval", TimeValue(Seconds(PACKET_BYTES * 8 / udp)));
		source.SetAttribute("MaxPackets", UintegerValue(UINT32_MAX));
		source.Install(host).Start(Seconds(0));
	}
	Ipv4GlobalRoutingHelper::PopulateRoutingTables();

	Counts before{};
	std::vector<uint64_t> received(sinks.size());
	Simulator::Schedule(Seconds(warmup), [&] {
		before = counts_of(discipline);
		waits.measuring = true;
		std::transform(sinks.begin(), sinks.end(), received.begin(),
			       [](const auto &sink) { return sink->GetTotalRx(); });
	});
	Simulator::Stop(Seconds(seconds));
	Simulator::Run();

	const Counts after = counts_of(discipline);
	const double measured = seconds - warmup;
	std::vector<double> goodputs;
	for (size_t sink = 0; sink < sinks.size(); ++sink) {
		goodputs.push_back((sinks[sink]->GetTotalRx() - received[sink]) * 8.0 / measured);
	}
	const auto sum_of = [&](size_t from, size_t to) {
		return std::accumulate(goodputs.begin() + from, goodputs.begin() + to, 0.0);
	};
	const double of_last = flows > 0 ? goodputs[flows - 1] : 0;
	auto &times = waits.seconds;
	std::sort(times.begin(), times.end());
	double sum = 0;
	for (const double time : times) {
		sum += time;
	}
	const double p95 = times.empty() ? 0 : times[(times.size() - 1) * 95 / 100];
	std::printf(
		"{\"seed\":%u,\"tcp_goodput_bps\":%.0f,\"last_goodput_bps\":%.0f,"
		"\"second_goodput_bps\":%.0f,\"udp_goodput_bps\":%.0f,\"arrived\":%llu,"
		"\"dropped\":%llu,\"marked\":%llu,\"seconds\":%g,\"wait_mean_s\":%.6f,\"wait_p95_"
		"s\":%.6f}\n",
		seed, sum_of(0, flows), of_last, sum_of(flows, flows + second),
		sum_of(flows + second, sinks.size()),
		static_cast<unsigned long long>(after.arrived - before.arrived),
		static_cast<unsigned long long>(after.dropped - before.dropped),
		static_cast<unsigned long long>(after.marked - before.marked), measured,
		times.empty() ? 0 : sum / times.size(), p95);
	Simulator::Destroy();
}
