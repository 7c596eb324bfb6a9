// One cell measured with ns-3: saturated stations that send to one receiver, in an ad hoc network without beacons.
//
// Prints one JSON object per run. The air carries only data, its control frames and, with A-MPDU, one ADDBA exchange
// per station. The warm-up is not counted. All stations are at the same point, so the propagation delay is zero.
// README.md defines the cells for comparison with other simulators and lists deviations of ns-3 from the standard.

#include "ns3/core-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/propagation-module.h"
#include "ns3/wifi-module.h"

#include <cmath>
#include <cstdio>
#include <ctime>
#include <sstream>

using namespace ns3;

namespace
{

// Loses exactly the PSDUs that another transmission overlaps. Received powers are equal or zero, so the signal is
// either far above the noise or at most equal to the interference.
class OverlapErrorRateModel : public ErrorRateModel
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("OverlapErrorRateModel")
                                .SetParent<ErrorRateModel>()
                                .AddConstructor<OverlapErrorRateModel>()
                                .AddAttribute("HeaderSurvives",
                                              "Whether the PHY header of an overlapped PPDU is received, so that "
                                              "the receiver detects an error and waits EIFS.",
                                              BooleanValue(true),
                                              MakeBooleanAccessor(&OverlapErrorRateModel::m_headerSurvives),
                                              MakeBooleanChecker());
        return tid;
    }

  private:
    double DoGetChunkSuccessRate(WifiMode,
                                 const WifiTxVector&,
                                 double snr,
                                 uint64_t,
                                 uint8_t,
                                 WifiPpduField field,
                                 uint16_t) const override
    {
        const bool overlapped = snr < 100;
        return overlapped && !(m_headerSurvives && field != WIFI_PPDU_FIELD_DATA) ? 0 : 1;
    }

    bool m_headerSurvives{true};
};

NS_OBJECT_ENSURE_REGISTERED(OverlapErrorRateModel);

// The same for DSSS and CCK, for which ns-3 ignores the configured error-rate model. Its own model receives 1 and
// 2 Mbit/s despite an equal interferer. All stations hear each other in these cells, so all see the same overlaps.
class OverlapErrorModel : public ErrorModel
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid =
            TypeId("OverlapErrorModel").SetParent<ErrorModel>().AddConstructor<OverlapErrorModel>();
        return tid;
    }

    // A transmission of any station starts.
    void Start(Time duration)
    {
        const auto now = Simulator::Now();
        m_overlapped = now < m_end;
        m_end = m_overlapped ? std::max(m_end, now + duration) : now + duration;
    }

  private:
    bool DoCorrupt(Ptr<Packet>) override
    {
        return m_overlapped;
    }

    void DoReset() override
    {
    }

    Time m_end;
    bool m_overlapped{false};
};

NS_OBJECT_ENSURE_REGISTERED(OverlapErrorModel);

struct Cell
{
    std::string phy{"ofdm"};
    std::string rate{"54"}; // Mbit/s, dsss, ofdm and erp only
    uint32_t mcs{7};        // within one stream for vht, 0 to 31 for ht
    uint32_t streams{1};
    uint32_t bandwidth{20};
    uint32_t gi{800};
    bool shortPreamble{false};
    bool longSlot{false};
    bool ctsToSelf{false};
    uint32_t stations{1};
    uint32_t msdu{1500}; // octets above LLC/SNAP
    bool ampdu{false};
    uint32_t amsdu{0};
    bool bar{false};
    bool rts{false};
    bool hidden{false};
    bool eifs{true};
    uint32_t retries{7}; // transmissions of an MPDU, 0: no limit
    std::string snr;     // dB, empty: PPDUs are lost only by overlap
    std::string acs{"be"};
    int32_t txopLimit{-1}; // of vi and vo, us; -1: ns-3's default
    double warmup{1};
    double duration{10};
    uint32_t runs{5};
    uint32_t firstRun{1};
};

// Counters of a run, without the warm-up.
struct Counts
{
    std::vector<uint64_t> msdus;
    uint64_t data{0};     // PPDUs that carry data
    uint64_t mpdus{0};    // MPDUs in them
    uint64_t rts{0};      // RTS frames
    uint64_t timeouts{0}; // missing responses
    uint64_t drops{0};    // MPDUs dropped
    Time dataDuration;
    Time responseDuration;
    Time rtsDuration;
    Time ctsDuration;
    uint32_t psdu{0};
};

Counts g_counts;

std::string
DataMode(const Cell& cell)
{
    if (cell.phy == "ht")
    {
        return "HtMcs" + std::to_string(cell.mcs);
    }
    if (cell.phy == "vht")
    {
        return "VhtMcs" + std::to_string(cell.mcs);
    }
    std::string rate = cell.rate;
    std::replace(rate.begin(), rate.end(), '.', '_');
    const std::map<std::string, std::string> prefix{{"dsss", "Dsss"}, {"ofdm", "Ofdm"}, {"erp", "ErpOfdm"}};
    return prefix.at(cell.phy) + "Rate" + rate + "Mbps";
}

// The mandatory rates of the PHY, which are the basic rates here.
std::vector<std::string>
BasicModes(const Cell& cell)
{
    const std::vector<std::string> dsss{"DsssRate1Mbps", "DsssRate2Mbps", "DsssRate5_5Mbps", "DsssRate11Mbps"};
    if (cell.phy == "dsss")
    {
        return dsss;
    }
    if (cell.phy == "erp")
    {
        auto modes = dsss;
        modes.insert(modes.end(), {"ErpOfdmRate6Mbps", "ErpOfdmRate12Mbps", "ErpOfdmRate24Mbps"});
        return modes;
    }
    return {"OfdmRate6Mbps", "OfdmRate12Mbps", "OfdmRate24Mbps"};
}

// The rate of RTS frames: the highest basic rate that does not exceed the data rate or the non-HT reference rate.
std::string
ControlMode(const Cell& cell)
{
    if (cell.phy == "dsss")
    {
        return DataMode(cell);
    }
    if (cell.phy == "ht" || cell.phy == "vht")
    {
        const uint32_t mcs = cell.phy == "ht" ? cell.mcs % 8 : cell.mcs;
        return mcs == 0 ? "OfdmRate6Mbps" : mcs < 3 ? "OfdmRate12Mbps" : "OfdmRate24Mbps";
    }
    const auto data = std::stoul(cell.rate);
    return (cell.phy == "erp" ? "ErpOfdmRate" : "OfdmRate") + std::to_string(data < 12 ? 6 : data < 24 ? 12 : 24) + "Mbps";
}

// Keeps the queue of one station full.
class Source
{
  public:
    Source(Ptr<WifiNetDevice> device, Address to, const Cell& cell, const std::string& ac)
        : m_device(device),
          m_to(to),
          m_octets(cell.msdu),
          m_depth(cell.ampdu ? (cell.amsdu ? 500 : 200) : 20)
    {
        const std::map<std::string, std::pair<AcIndex, uint8_t>> categories{
            {"be", {AC_BE, 0}}, {"bk", {AC_BK, 1}}, {"vi", {AC_VI, 5}}, {"vo", {AC_VO, 6}}};
        const auto [index, priority] = categories.at(ac);
        m_priority = priority;
        auto mac = device->GetMac();
        m_queue = mac->GetQosSupported() ? mac->GetTxopQueue(index) : mac->GetTxopQueue(AC_BE_NQOS);
        m_queue->SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, m_depth + 100));
        m_queue->SetMaxDelay(Days(1));
        mac->TraceConnectWithoutContext("AckedMpdu", MakeCallback(&Source::Acked, this));
        mac->TraceConnectWithoutContext("DroppedMpdu", MakeCallback(&Source::Dropped, this));
        mac->TraceConnectWithoutContext("MpduResponseTimeout", MakeCallback(&Source::MpduTimeout, this));
        mac->TraceConnectWithoutContext("PsduResponseTimeout", MakeCallback(&Source::PsduTimeout, this));
        device->GetPhy()->TraceConnectWithoutContext("PhyTxPsduBegin", MakeCallback(&Source::TxBegin, this));
    }

    void Fill()
    {
        while (m_queue->GetNPackets() < m_depth)
        {
            auto packet = Create<Packet>(m_octets);
            SocketPriorityTag tag;
            tag.SetPriority(m_priority);
            packet->AddPacketTag(tag);
            m_device->Send(packet, m_to, 0x0800);
        }
    }

  private:
    void Acked(Ptr<const WifiMpdu>)
    {
        Simulator::ScheduleNow(&Source::Fill, this);
    }

    void Dropped(WifiMacDropReason, Ptr<const WifiMpdu>)
    {
        ++g_counts.drops;
        Simulator::ScheduleNow(&Source::Fill, this);
    }

    void MpduTimeout(uint8_t, Ptr<const WifiMpdu>, const WifiTxVector&)
    {
        ++g_counts.timeouts;
    }

    void PsduTimeout(uint8_t, Ptr<const WifiPsdu>, const WifiTxVector&)
    {
        ++g_counts.timeouts;
    }

    void TxBegin(WifiConstPsduMap psdus, WifiTxVector txVector, double)
    {
        auto psdu = psdus.begin()->second;
        auto phy = m_device->GetPhy();
        const auto duration = WifiPhy::CalculateTxDuration(psdus, txVector, phy->GetPhyBand());
        if (psdu->GetHeader(0).HasData())
        {
            ++g_counts.data;
            g_counts.mpdus += psdu->GetNMpdus();
            g_counts.dataDuration = duration;
            g_counts.psdu = psdu->GetSize();
        }
        else if (psdu->GetHeader(0).IsRts())
        {
            ++g_counts.rts;
            g_counts.rtsDuration = duration;
        }
        else if (psdu->GetHeader(0).IsCts())
        {
            g_counts.ctsDuration = duration;
        }
    }

    Ptr<WifiNetDevice> m_device;
    Address m_to;
    uint32_t m_octets;
    uint32_t m_depth;
    uint8_t m_priority{0};
    Ptr<WifiMacQueue> m_queue;
};

void
Answer(Ptr<WifiPhy> phy, WifiConstPsduMap psdus, WifiTxVector txVector, double)
{
    const auto& header = psdus.begin()->second->GetHeader(0);
    const auto duration = WifiPhy::CalculateTxDuration(psdus, txVector, phy->GetPhyBand());
    if (header.IsAck() || header.IsBlockAck())
    {
        g_counts.responseDuration = duration;
    }
    else if (header.IsCts())
    {
        g_counts.ctsDuration = duration;
    }
}

void
OnAir(Ptr<OverlapErrorModel> model, Ptr<WifiPhy> phy, WifiConstPsduMap psdus, WifiTxVector txVector, double)
{
    model->Start(WifiPhy::CalculateTxDuration(psdus, txVector, phy->GetPhyBand()));
}

Ptr<YansWifiChannel>
Channel(const Cell& cell, const NodeContainer& nodes)
{
    auto channel = CreateObject<YansWifiChannel>();
    channel->SetPropagationDelayModel(CreateObject<ConstantSpeedPropagationDelayModel>());
    if (!cell.snr.empty())
    {
        // Noise as WifiPhy computes it: thermal noise at 290 K and a noise figure of 7 dB.
        const double noise = 1.3803e-23 * 290 * cell.bandwidth * 1e6 * std::pow(10, 0.7);
        auto loss = CreateObject<FixedRssLossModel>();
        loss->SetRss(10 * std::log10(noise * 1e3) + std::stod(cell.snr));
        channel->SetPropagationLossModel(loss);
        return channel;
    }
    auto loss = CreateObject<MatrixPropagationLossModel>();
    loss->SetDefaultLoss(50);
    if (cell.hidden)
    {
        for (uint32_t i = 1; i <= cell.stations; ++i)
        {
            for (uint32_t j = i + 1; j <= cell.stations; ++j)
            {
                loss->SetLoss(nodes.Get(i)->GetObject<MobilityModel>(),
                              nodes.Get(j)->GetObject<MobilityModel>(),
                              1000);
            }
        }
    }
    channel->SetPropagationLossModel(loss);
    return channel;
}

NetDeviceContainer
Devices(const Cell& cell, const NodeContainer& nodes)
{
    const std::map<std::string, WifiStandard> standards{{"dsss", WIFI_STANDARD_80211b},
                                                        {"ofdm", WIFI_STANDARD_80211a},
                                                        {"erp", WIFI_STANDARD_80211g},
                                                        {"ht", WIFI_STANDARD_80211n},
                                                        {"vht", WIFI_STANDARD_80211ac}};
    const bool band24 = cell.phy == "dsss" || cell.phy == "erp";
    YansWifiPhyHelper phy;
    phy.SetChannel(Channel(cell, nodes));
    phy.DisablePreambleDetectionModel();
    if (cell.snr.empty())
    {
        phy.SetErrorRateModel("OverlapErrorRateModel", "HeaderSurvives", BooleanValue(cell.eifs));
    }
    else
    {
        phy.SetErrorRateModel("ns3::NistErrorRateModel");
        phy.Set("RxSensitivity", DoubleValue(-150));
    }
    phy.Set("ChannelSettings",
            StringValue("{0, " + std::to_string(cell.phy == "dsss" ? 22 : cell.bandwidth) + ", " +
                        (band24 ? "BAND_2_4GHZ" : "BAND_5GHZ") + ", 0}"));
    phy.Set("Antennas", UintegerValue(cell.streams));
    phy.Set("MaxSupportedTxSpatialStreams", UintegerValue(cell.streams));
    phy.Set("MaxSupportedRxSpatialStreams", UintegerValue(cell.streams));

    WifiMacHelper mac;
    mac.SetType("ns3::AdhocWifiMac");
    WifiHelper wifi;
    wifi.SetStandard(standards.at(cell.phy));
    const uint32_t retries = cell.retries ? cell.retries : 1000000000;
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager",
                                 "DataMode",
                                 StringValue(DataMode(cell)),
                                 "ControlMode",
                                 StringValue(ControlMode(cell)),
                                 "RtsCtsThreshold",
                                 UintegerValue(cell.rts ? 0 : 1u << 30),
                                 "MaxSsrc",
                                 UintegerValue(retries),
                                 "MaxSlrc",
                                 UintegerValue(retries));
    auto devices = wifi.Install(phy, mac, nodes);

    auto overlap = CreateObject<OverlapErrorModel>();
    for (uint32_t i = 0; i < devices.GetN(); ++i)
    {
        auto device = DynamicCast<WifiNetDevice>(devices.Get(i));
        if (cell.phy == "dsss")
        {
            auto phy = device->GetPhy();
            phy->SetPostReceptionErrorModel(overlap);
            phy->TraceConnectWithoutContext("PhyTxPsduBegin", MakeBoundCallback(&OnAir, overlap, phy));
        }
        auto manager = device->GetRemoteStationManager();
        for (const auto& mode : BasicModes(cell))
        {
            manager->AddBasicMode(WifiMode(mode));
        }
        manager->SetShortPreambleEnabled(cell.shortPreamble);
        manager->SetUseNonErpProtection(cell.ctsToSelf);
        if (cell.phy == "erp" && !cell.longSlot)
        {
            device->GetPhy()->SetSlot(MicroSeconds(9));
        }
        if (auto ht = device->GetHtConfiguration())
        {
            ht->SetShortGuardIntervalSupported(cell.gi == 400);
        }
        auto wifiMac = device->GetMac();
        if (wifiMac->GetQosSupported())
        {
            for (const std::string ac : {"BE", "BK", "VI", "VO"})
            {
                const uint32_t ampdu = !cell.ampdu ? 0 : cell.phy == "ht" ? 65535 : 1048575;
                wifiMac->SetAttribute(ac + "_MaxAmpduSize", UintegerValue(ampdu));
                wifiMac->SetAttribute(ac + "_MaxAmsduSize", UintegerValue(cell.amsdu));
            }
            for (uint8_t tid : {0, 1, 5, 6})
            {
                wifiMac->GetQosTxop(tid)->SetAttribute("UseExplicitBarAfterMissedBlockAck",
                                                       BooleanValue(cell.bar));
                if (tid >= 5 && cell.txopLimit >= 0)
                {
                    wifiMac->GetQosTxop(tid)->SetTxopLimits({MicroSeconds(cell.txopLimit)});
                }
            }
        }
    }
    return devices;
}

std::vector<std::string>
Categories(const Cell& cell)
{
    std::vector<std::string> given;
    std::stringstream list(cell.acs);
    for (std::string ac; std::getline(list, ac, '+');)
    {
        given.push_back(ac);
    }
    std::vector<std::string> acs;
    for (uint32_t i = 0; i < cell.stations; ++i)
    {
        acs.push_back(given[i % given.size()]);
    }
    return acs;
}

double
Us(Time time)
{
    return static_cast<double>(time.GetNanoSeconds()) / 1e3;
}

void
Run(const Cell& cell, uint32_t run)
{
    RngSeedManager::SetSeed(1);
    RngSeedManager::SetRun(run);

    NodeContainer nodes;
    nodes.Create(cell.stations + 1);
    MobilityHelper mobility;
    mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel");
    mobility.Install(nodes);
    auto devices = Devices(cell, nodes);

    std::map<Address, uint32_t> station;
    std::vector<std::unique_ptr<Source>> sources;
    const auto acs = Categories(cell);
    for (uint32_t i = 1; i <= cell.stations; ++i)
    {
        auto device = DynamicCast<WifiNetDevice>(devices.Get(i));
        station[device->GetAddress()] = i - 1;
        sources.push_back(std::make_unique<Source>(device, devices.Get(0)->GetAddress(), cell, acs[i - 1]));
        Simulator::Schedule(MicroSeconds(10 * i), &Source::Fill, sources.back().get());
    }
    auto receiver = DynamicCast<WifiNetDevice>(devices.Get(0));
    auto phy = receiver->GetPhy();
    phy->TraceConnectWithoutContext("PhyTxPsduBegin", MakeBoundCallback(&Answer, phy));
    static std::map<Address, uint32_t>* stations;
    stations = &station;
    receiver->SetReceiveCallback(
        +[](Ptr<NetDevice>, Ptr<const Packet>, uint16_t, const Address& from) {
            ++g_counts.msdus[stations->at(from)];
            return true;
        });

    const auto reset = [&cell] {
        g_counts = Counts{};
        g_counts.msdus.resize(cell.stations);
    };
    reset();
    Simulator::Schedule(Seconds(cell.warmup), std::function<void()>(reset));
    Simulator::Stop(Seconds(cell.warmup + cell.duration));
    const auto start = std::clock();
    Simulator::Run();
    const double cpu_s = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;

    std::ostringstream list;
    for (const auto msdus : g_counts.msdus)
    {
        list << (list.str().empty() ? "" : ", ") << msdus;
    }
    std::printf("{\"msdus\": [%s], \"data\": %lu, \"mpdus\": %lu, \"rts\": %lu, \"timeouts\": %lu, \"drops\": %lu, "
                "\"psdu_len_b\": %u, \"ppdu_us\": %.1f, \"response_us\": %.1f, \"rts_us\": %.1f, \"cts_us\": %.1f, "
                "\"simulated_s\": %g, \"cpu_s\": %.3f}\n",
                list.str().c_str(),
                g_counts.data,
                g_counts.mpdus,
                g_counts.rts,
                g_counts.timeouts,
                g_counts.drops,
                g_counts.psdu,
                Us(g_counts.dataDuration),
                Us(g_counts.responseDuration),
                Us(g_counts.rtsDuration),
                Us(g_counts.ctsDuration),
                cell.warmup + cell.duration,
                cpu_s);
    std::fflush(stdout);
    Simulator::Destroy();
}

} // namespace

int
main(int argc, char* argv[])
{
    Cell cell;
    CommandLine cmd(__FILE__);
    cmd.AddValue("phy", "dsss, ofdm, erp, ht or vht", cell.phy);
    cmd.AddValue("rate", "data rate of dsss, ofdm and erp, Mbit/s", cell.rate);
    cmd.AddValue("mcs", "MCS: 0 to 31 for ht, 0 to 9 for vht", cell.mcs);
    cmd.AddValue("streams", "spatial streams", cell.streams);
    cmd.AddValue("bandwidth", "MHz", cell.bandwidth);
    cmd.AddValue("gi", "guard interval, ns", cell.gi);
    cmd.AddValue("shortPreamble", "short preamble of dsss", cell.shortPreamble);
    cmd.AddValue("longSlot", "slot of 20 us with erp", cell.longSlot);
    cmd.AddValue("ctsToSelf", "protection of erp", cell.ctsToSelf);
    cmd.AddValue("stations", "saturated stations", cell.stations);
    cmd.AddValue("msdu", "octets of an MSDU without LLC/SNAP", cell.msdu);
    cmd.AddValue("ampdu", "A-MPDUs of up to the PHY's maximum length", cell.ampdu);
    cmd.AddValue("amsdu", "maximum length of an A-MSDU in octets, 0 for none", cell.amsdu);
    cmd.AddValue("bar", "BlockAckReq after a missed BlockAck", cell.bar);
    cmd.AddValue("rts", "RTS before every data PPDU", cell.rts);
    cmd.AddValue("hidden", "stations hear only the receiver", cell.hidden);
    cmd.AddValue("eifs", "EIFS after overlapping PPDUs", cell.eifs);
    cmd.AddValue("retries", "transmissions of an MPDU, 0 for no limit", cell.retries);
    cmd.AddValue("snr", "signal to noise ratio at every receiver, dB, with NIST error rates", cell.snr);
    cmd.AddValue("acs", "access categories of the stations in order, joined by +", cell.acs);
    cmd.AddValue("txopLimit", "TXOP limit of vi and vo, us; -1 for 4096 and 2080", cell.txopLimit);
    cmd.AddValue("warmup", "seconds not counted", cell.warmup);
    cmd.AddValue("duration", "seconds counted", cell.duration);
    cmd.AddValue("runs", "number of runs, each with its own seeds", cell.runs);
    cmd.AddValue("firstRun", "number of the first run", cell.firstRun);
    cmd.Parse(argc, argv);
    for (uint32_t run = cell.firstRun; run < cell.firstRun + cell.runs; ++run)
    {
        Run(cell, run);
    }
    return 0;
}
