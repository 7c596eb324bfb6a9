// Probability that bits arrive without error, by the error-rate models of ns-3: the reference of tests/errors_ns3.rs
// in wlan-air.
//
// Written for ns-3.37 (Debian 12: libns3-dev, built with GSL). Build and run, in this directory:
//   g++ -std=c++17 -O1 -I/usr/include error_rates.cc -o /tmp/error_rates -lns3-wifi -lns3-core
//   /tmp/error_rates > ../../crates/wlan-air/tests/data/ns3_error_rates.csv
//
// One line per model, mode, SNR and number of bits, for SNRs at which the outcome is not certain. phy:
// dsss|ofdm|ht|vht; index: kbit/s, or the MCS; the SNR is over the width of the channel, 22 MHz for DSSS.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>

#include "ns3/dsss-phy.h"
#include "ns3/ht-phy.h"
#include "ns3/nist-error-rate-model.h"
#include "ns3/ofdm-phy.h"
#include "ns3/vht-phy.h"
#include "ns3/wifi-tx-vector.h"
#include "ns3/yans-error-rate-model.h"

using namespace ns3;

namespace
{

void
Print(const std::string& modelName, const ErrorRateModel& model, const std::string& phy, uint32_t index,
      WifiMode mode, WifiPreamble preamble, int streams, int bandwidthMhz, int giNs)
{
    WifiTxVector vector(mode, 0, preamble, giNs, streams, streams, 0, bandwidthMhz, false);
    for (uint64_t bits : {112, 12000})
    {
        for (int quarterDb = -80; quarterDb <= 200; quarterDb += 3)
        {
            const double snrDb = quarterDb / 4.0;
            const double p = model.GetChunkSuccessRate(mode, vector, std::pow(10.0, snrDb / 10.0), bits);
            if (p > 1e-9 && p < 1 - 1e-9)
            {
                std::printf("%s,%s,%u,%d,%d,%d,%.2f,%lu,%.15g\n", modelName.c_str(), phy.c_str(), index, streams,
                            bandwidthMhz, giNs, snrDb, static_cast<unsigned long>(bits), p);
            }
        }
    }
}

void
PrintAll(const std::string& name, const ErrorRateModel& model)
{
    for (uint32_t mbps : {6, 9, 12, 18, 24, 36, 48, 54})
    {
        Print(name, model, "ofdm", mbps * 1000, OfdmPhy::GetOfdmRate(mbps * 1000000ULL), WIFI_PREAMBLE_LONG, 1, 20, 800);
    }
    for (uint8_t mcs : {0, 7, 15, 20, 31})
    {
        for (int bandwidthMhz : {20, 40})
        {
            const int giNs = bandwidthMhz == 20 ? 800 : 400;
            Print(name, model, "ht", mcs, HtPhy::GetHtMcs(mcs), WIFI_PREAMBLE_HT_MF, mcs / 8 + 1, bandwidthMhz, giNs);
        }
    }
    for (uint8_t mcs : {2, 5, 7, 8, 9})
    {
        for (uint8_t streams : {1, 3})
        {
            Print(name, model, "vht", mcs, VhtPhy::GetVhtMcs(mcs), WIFI_PREAMBLE_VHT_SU, streams, 80, 400);
        }
    }
    Print(name, model, "vht", 9, VhtPhy::GetVhtMcs(9), WIFI_PREAMBLE_VHT_SU, 8, 160, 800);
    Print(name, model, "vht", 8, VhtPhy::GetVhtMcs(8), WIFI_PREAMBLE_VHT_SU, 1, 20, 800);
}

} // namespace

int
main()
{
    std::printf("model,phy,index,streams,bandwidth_mhz,gi_ns,snr_db,bits,success\n");
    const Ptr<NistErrorRateModel> nist = CreateObject<NistErrorRateModel>();
    const Ptr<YansErrorRateModel> yans = CreateObject<YansErrorRateModel>();
    for (uint32_t kbps : {1000, 2000, 5500, 11000})
    {
        // The same in both models.
        Print("nist", *nist, "dsss", kbps, DsssPhy::GetDsssRate(kbps * 1000ULL), WIFI_PREAMBLE_LONG, 1, 22, 800);
    }
    PrintAll("nist", *nist);
    PrintAll("yans", *yans);
    return 0;
}
