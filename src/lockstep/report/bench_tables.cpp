#include "lockstep/report/bench_tables.h"

#include <fmt/format.h>

#include "lockstep/analyze/communication.h"
#include "lockstep/base/units.h"

namespace lockstep::report {
namespace {

std::string place(const record::Machine& machine) {
  return fmt::format("{} ({}, {} cores)", machine.host, machine.cpu, machine.cores);
}

std::string fit_sentence(const record::LinkCalibration& link) {
  return fmt::format(
      "link: latency {} per message and {:.3f} GB/s fit these times within {:.0f} % (time = 2(N-1) "
      "latency + 2(N-1)/N size / bandwidth); largest busbw {:.3f} GB/s.",
      format_seconds(Seconds(link.alpha_s)), link.bytes_per_s / 1e9, 100 * link.spread,
      link.peak_bus_per_s / 1e9);
}

}  // namespace

Table collectives_table(const record::CollectivesResult& result,
                        const record::LinkCalibration& link) {
  Table table;
  table.title = link.nodes > 1
                    ? fmt::format("All-reduce over {}: {} workers on {} hosts",
                                  record::name_of(link.backend), link.workers, link.nodes)
                    : fmt::format("All-reduce over {}: {} workers on {}",
                                  record::name_of(link.backend), link.workers, place(link.machine));
  table.columns = {
      {"size", "B", "bytes", Align::kRight, "S, of 32-bit floats"},
      {"time", "us", "time_us", Align::kRight, "median over the rounds, of the slowest rank"},
      {"±", "us", "deviation_us", Align::kRight, "sample standard deviation"},
      {"n", "", "rounds", Align::kRight, "rounds"},
      {"algbw", "GB/s", "algbw_gb_per_s", Align::kRight, "S / time"},
      {"busbw", "GB/s", "busbw_gb_per_s", Align::kRight, "algbw x 2(N-1)/N"},
      {"wrong", "", "wrong", Align::kRight,
       "elements that differ from the sum, over all ranks and rounds"}};
  for (const record::CollectivesRow& row : result.rows) {
    const auto bytes = static_cast<double>(row.point.bytes);
    const double seconds = row.point.seconds;
    table.rows.push_back(
        {count(row.point.bytes), significant(seconds * 1e6), significant(row.deviation_s * 1e6),
         count(row.point.rounds), decimal(analyze::algorithm_bandwidth(bytes, seconds) / 1e9, 3),
         decimal(analyze::bus_bandwidth(bytes, seconds, link.workers) / 1e9, 3), count(row.wrong)});
  }
  table.notes.push_back(fit_sentence(link));
  return table;
}

Table links_table(std::span<const record::LinkCalibration> links) {
  Table table;
  table.title = "Calibrated links, newest first";
  table.columns = {
      {"measured", "", "measured", Align::kLeft, ""},
      {"host", "", "host", Align::kLeft, ""},
      {"back end", "", "backend", Align::kLeft, ""},
      {"N", "", "workers", Align::kRight, "workers"},
      {"hosts", "", "nodes", Align::kRight, "that the workers ran on"},
      {"latency", "us", "alpha_us", Align::kRight, "of one of the 2(N-1) messages"},
      {"bandwidth", "GB/s", "bandwidth_gb_per_s", Align::kRight, "fitted"},
      {"largest busbw", "GB/s", "peak_bus_gb_per_s", Align::kRight, "of all sizes"},
      {"misfit", "%", "misfit_percent", Align::kRight, "of latency and bandwidth to the times"}};
  for (const record::LinkCalibration& link : links) {
    table.rows.push_back({format_local_time(link.measured_wall_ns), link.machine.host,
                          std::string(record::name_of(link.backend)), count(link.workers),
                          count(link.nodes), significant(link.alpha_s * 1e6),
                          decimal(link.bytes_per_s / 1e9, 3), decimal(link.peak_bus_per_s / 1e9, 3),
                          decimal(100 * link.spread, 0)});
  }
  return table;
}

Table device_table(std::span<const record::DeviceCalibration> devices) {
  Table table;
  table.title = "Calibrated devices";
  table.columns = {{"host", "", "host", Align::kLeft, ""},
                   {"device", "", "device", Align::kLeft, ""},
                   {"threads", "", "threads", Align::kRight, ""},
                   {"arithmetic", "GFLOP/s", "gflops", Align::kRight,
                    "best rate of a product of 1536 x 1536 matrices, 32-bit"},
                   {"memory", "GB/s", "memory_gb_per_s", Align::kRight,
                    "best rate of c = a + 2 b over 64 MiB arrays, read and written together"},
                   {"balance", "FLOP/B", "flop_per_byte", Align::kRight, "arithmetic / memory"},
                   {"gemm", "", "gemm", Align::kLeft, "library used for the matrix product"}};
  table.label_columns = 3;
  for (const record::DeviceCalibration& one : devices) {
    table.rows.push_back(
        {one.machine.host, one.device.empty() ? "cpu" : one.device + ": " + one.machine.cpu,
         count(one.threads), significant(one.flops / 1e9), significant(one.bytes_per_s / 1e9),
         significant(one.bytes_per_s > 0 ? one.flops / one.bytes_per_s : 0), one.gemm});
  }
  return table;
}

}  // namespace lockstep::report
