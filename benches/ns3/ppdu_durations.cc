// Airtime of PPDUs by ns-3: the reference of tests/phy_ns3.rs in wlan-air for every mode.
//
// Written for ns-3.37 (Debian 12: libns3-dev). Build and run, in this directory:
//   g++ -std=c++17 -O1 -I/usr/include ppdu_durations.cc -o /tmp/ppdu_durations -lns3-wifi -lns3-core
//   /tmp/ppdu_durations > ../../crates/wlan-air/tests/data/ns3_ppdu_durations.csv
//
// One line per mode. phy: dsss|ofdm|erp|ht|vht; index: kbit/s, or the MCS; preamble_ns: everything before the data;
// ns_L: airtime of the PPDU with a PSDU of L octets, empty if L exceeds the maximum of the format. All combinations
// of VHT MCS, width and streams are included, even undefined ones.

#include <cstdint>
#include <iostream>
#include <string>

#include "ns3/dsss-phy.h"
#include "ns3/erp-ofdm-phy.h"
#include "ns3/ht-phy.h"
#include "ns3/ofdm-phy.h"
#include "ns3/vht-phy.h"
#include "ns3/wifi-phy.h"
#include "ns3/wifi-tx-vector.h"

using namespace ns3;

namespace
{

const uint32_t LENGTHS_B[] = {0, 14, 100, 1536, 4095, 65535, 1048575};

struct Line
{
    std::string phy;
    uint32_t index;
    int streams;
    int bandwidthMhz;
    int giNs;
    WifiPhyBand band;
    WifiPreamble preamble;
    WifiMode mode;
    uint32_t maxLenB;
};

void
Print(const Line& line)
{
    std::cout << line.phy << ',' << line.index << ',' << line.streams << ',' << line.bandwidthMhz << ','
              << line.giNs << ',' << (line.band == WIFI_PHY_BAND_5GHZ ? "5" : "2.4") << ','
              << (line.preamble == WIFI_PREAMBLE_SHORT ? "short" : "long") << ',';
    WifiTxVector vector(line.mode, 0, line.preamble, line.giNs, line.streams, line.streams, 0, line.bandwidthMhz, false);
    std::cout << WifiPhy::CalculatePhyPreambleAndHeaderDuration(vector).GetNanoSeconds();
    for (uint32_t lenB : LENGTHS_B)
    {
        std::cout << ',';
        if (lenB <= line.maxLenB)
        {
            std::cout << WifiPhy::CalculateTxDuration(lenB, vector, line.band).GetNanoSeconds();
        }
    }
    std::cout << '\n';
}

} // namespace

int
main()
{
    std::cout << "phy,index,streams,bandwidth_mhz,gi_ns,band_ghz,preamble,preamble_ns";
    for (uint32_t lenB : LENGTHS_B)
    {
        std::cout << ",ns_" << lenB;
    }
    std::cout << '\n';
    for (uint32_t kbps : {1000, 2000, 5500, 11000})
    {
        const WifiMode mode = DsssPhy::GetDsssRate(kbps * 1000ULL);
        for (WifiPreamble preamble : {WIFI_PREAMBLE_LONG, WIFI_PREAMBLE_SHORT})
        {
            if (kbps == 1000 && preamble == WIFI_PREAMBLE_SHORT)
            {
                continue;
            }
            Print({"dsss", kbps, 1, 22, 800, WIFI_PHY_BAND_2_4GHZ, preamble, mode, 4095});
        }
    }
    for (uint32_t mbps : {6, 9, 12, 18, 24, 36, 48, 54})
    {
        Print({"ofdm", mbps * 1000, 1, 20, 800, WIFI_PHY_BAND_5GHZ, WIFI_PREAMBLE_LONG,
               OfdmPhy::GetOfdmRate(mbps * 1000000ULL), 4095});
        Print({"erp", mbps * 1000, 1, 20, 800, WIFI_PHY_BAND_2_4GHZ, WIFI_PREAMBLE_LONG,
               ErpOfdmPhy::GetErpOfdmRate(mbps * 1000000ULL), 4095});
    }
    for (int bandwidthMhz : {20, 40})
    {
        for (int giNs : {800, 400})
        {
            for (WifiPhyBand band : {WIFI_PHY_BAND_5GHZ, WIFI_PHY_BAND_2_4GHZ})
            {
                for (uint8_t mcs = 0; mcs < 32; mcs++)
                {
                    Print({"ht", mcs, mcs / 8 + 1, bandwidthMhz, giNs, band, WIFI_PREAMBLE_HT_MF,
                           HtPhy::GetHtMcs(mcs), 65535});
                }
            }
        }
    }
    for (int bandwidthMhz : {20, 40, 80, 160})
    {
        for (int giNs : {800, 400})
        {
            for (uint8_t streams = 1; streams <= 8; streams++)
            {
                for (uint8_t mcs = 0; mcs < 10; mcs++)
                {
                    Print({"vht", mcs, streams, bandwidthMhz, giNs, WIFI_PHY_BAND_5GHZ, WIFI_PREAMBLE_VHT_SU,
                           VhtPhy::GetVhtMcs(mcs), 1048575});
                }
            }
        }
    }
    return 0;
}
