#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "collectives_bench.h"
#include "device_bench.h"
#include "event_channel.h"
#include "lockstep/base/error.h"
#include "lockstep/base/log.h"
#include "lockstep/base/version.h"
#include "lockstep/comm/c10d/gloo.h"
#include "lockstep/comm/c10d/nccl.h"
#include "lockstep/comm/placement.h"
#include "lockstep/comm/shared_memory.h"
#include "lockstep/comm/single.h"
#include "lockstep/measure/machine.h"
#include "lockstep/train/trainer.h"
#include "probe.h"
#include "process_setup.h"
#include "train_options.h"

namespace lockstep::worker {
namespace {

std::unique_ptr<comm::Communicator> connect(const comm::Placement& place,
                                            const record::TrainRequest& request) {
  const Seconds timeout(request.timeout_s);
  std::string backend = request.spec.backend;
  if (backend == "auto") {
    backend = place.shared_memory_fd && place.local_size == place.size ? "shm" : "gloo";
    if (request.spec.device == "cuda" && comm::has_nccl()) backend = "nccl";
  }
  if (place.size == 1) return comm::make_single();
  if (backend == "shm") {
    if (!place.shared_memory_fd || place.local_size != place.size) {
      throw Error(ErrorKind::kUsage, "--backend shm serves workers of one host only",
                  "use --backend gloo");
    }
    return comm::make_shared_memory({.fd = *place.shared_memory_fd,
                                     .rank = place.rank,
                                     .size = place.size,
                                     .timeout = timeout,
                                     .spin = Seconds(request.spec.oversubscribed ? 0 : 50e-6)});
  }
  if (backend == "nccl") {
    return comm::make_nccl({.rank = place.rank,
                            .size = place.size,
                            .gpu = place.local_rank,
                            .rendezvous_dir = place.rendezvous_dir,
                            .timeout = timeout});
  }
  return comm::make_gloo({.rank = place.rank,
                          .size = place.size,
                          .rendezvous_dir = place.rendezvous_dir,
                          .timeout = timeout});
}

record::RunStarted describe_program() {
  record::RunStarted started;
  started.machine = measure::describe_machine();
  started.build = {.version = kVersion,
                   .compiler = fmt::format("{} {}", __GNUC__ > 0 ? "GCC" : "C++", __VERSION__),
                   .torch = torch_version(),
                   .blas = blas_description()};
  return started;
}

void train(const record::TrainRequest& request, const comm::Placement& place,
           const EventChannel& events) {
  set_up_process(request.spec.threads_per_worker);
  const SystemClock clock;
  const auto communicator = connect(place, request);
  try {
    train::Trainer trainer(request, describe_program(), *communicator, clock,
                           [&](const record::Event& event) { events.send(event); }, stop_flag(),
                           place.local_rank);
    trainer.run();
  } catch (...) {
    communicator->abandon();
    throw;
  }
}

/// Lines on standard output, for `lockstep bench`; the record is closed as that of a run is.
void bench_link(const record::TrainRequest& request, const CollectivesOptions& options,
                const comm::Placement& place, const EventChannel& events) {
  set_up_process(1);
  const SystemClock clock;
  const auto communicator = connect(place, request);
  try {
    bench_collectives(options, *communicator, clock, [](const std::string& line) {
      fmt::print("{}\n", line);
      std::fflush(stdout);
    });
  } catch (...) {
    communicator->abandon();
    throw;
  }
  if (place.rank == 0) events.send(record::RunEnded{});
}

/// One rank of one run; `lockstep train` starts as many as it needs.
int run(int argc, char** argv) {
  const comm::Placement place = comm::placement_from_environment(
      [](const char* name) -> const char* { return std::getenv(name); });
  set_up_log(place.size > 1 ? fmt::format("[rank {}/{}]", place.rank, place.size) : "", false);
  const EventChannel events = event_channel_from_environment();
  record::TrainRequest request;
  request.spec.batch_per_worker = 0;  // unless told otherwise, the recipe's own
  CLI::App app{"One rank of a Lockstep run, usually started by `lockstep train`."};
  app.set_version_flag("--version", kVersion);
  app.require_subcommand(1);
  CLI::App* training = app.add_subcommand("train", "Train as the rank that the environment says");
  cli::add_train_options(*training, request);
  CLI::App* probing = app.add_subcommand("probe", "Print what this program offers here, as JSON");
  CLI::App* naming = app.add_subcommand("names", "Print the recipes and schedules, as JSON");
  CollectivesOptions sizes;
  CLI::App* link = app.add_subcommand("collectives", "Time all-reduces, a line of JSON for each size");
  link->add_option("--backend", request.spec.backend, "How workers exchange data");
  link->add_option("--least", sizes.least_bytes, "Smallest size, bytes");
  link->add_option("--most", sizes.most_bytes, "Largest size, bytes");
  link->add_option("--seconds", sizes.seconds_per_size, "Time for each size");
  link->add_flag("--oversubscribe", request.spec.oversubscribed, "Workers share cores");
  CLI::App* device = app.add_subcommand("device", "Measure this device, a line of JSON");
  double seconds = 1;
  device->add_option("--threads", request.spec.threads_per_worker, "Threads to use");
  device->add_option("--seconds", seconds, "Time for each figure");
  try {
    try {
      app.parse(argc, argv);
    } catch (const CLI::ParseError& problem) {
      return app.exit(problem) == 0 ? 0 : exit_code(ErrorKind::kUsage);
    }
    if (probing->parsed()) {
      fmt::print("{}\n", probe());
      return 0;
    }
    if (naming->parsed()) {
      fmt::print("{}\n", known_names());
      return 0;
    }
    if (link->parsed()) {
      bench_link(request, sizes, place, events);
      return 0;
    }
    if (device->parsed()) {
      set_up_process(request.spec.threads_per_worker);
      fmt::print("{}\n", bench_device(SystemClock(), seconds));
      return 0;
    }
    cli::check_train_request(request);
    train(request, place, events);
    return 0;
  } catch (const Error& error) {
    events.send(record::WorkerError{place.rank, std::string(kind_name(error.kind())), error.what(),
                                    error.hint()});
    return exit_code(error.kind());
  } catch (const std::exception& problem) {
    events.send(record::WorkerError{place.rank, "internal", problem.what(), ""});
    return exit_code(ErrorKind::kInternal);
  }
}

}  // namespace
}  // namespace lockstep::worker

int main(int argc, char** argv) { return lockstep::worker::run(argc, argv); }
