#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "blas.h"
#include "collectives_bench.h"
#include "device_bench.h"
#include "event_channel.h"
#include "lockstep/base/error.h"
#include "lockstep/base/terminal/log.h"
#include "lockstep/base/version.h"
#include "lockstep/comm/rendezvous/network_address.h"
#include "lockstep/comm/rendezvous/own_gpu.h"
#include "lockstep/comm/rendezvous/placement.h"
#include "lockstep/measure/machine.h"
#include "lockstep/train/sync/device.h"
#include "lockstep/train/sync/device_settings.h"
#include "lockstep/train/trainer/trainer.h"
#include "probe.h"
#include "process_setup.h"
#include "rank_connection.h"
#include "train_options.h"

namespace lockstep::worker {
namespace {

/// The command line.
struct Command {
  record::TrainRequest request;
  std::string record_path;
  CollectivesOptions collectives;
  double device_seconds = 1;
  CLI::App* training = nullptr;
  CLI::App* probing = nullptr;
  CLI::App* naming = nullptr;
  CLI::App* link = nullptr;
  CLI::App* device = nullptr;
};

void add_bench_commands(CLI::App& app, Command& command) {
  record::TrainRequest& request = command.request;
  command.link = app.add_subcommand(
      "collectives", "Time all-reduces over all ranks; rank 0 prints one line of JSON per size");
  command.link->add_option_function<std::string>(
      "--backend",
      [&request](const std::string& given) {
        request.spec.backend = record::parse_choice<record::Backend>("--backend", given);
      },
      "How workers exchange data");
  command.link->add_option("--least", command.collectives.least_bytes, "Smallest size, in bytes");
  command.link->add_option("--most", command.collectives.most_bytes, "Largest size, in bytes");
  command.link->add_option("--seconds", command.collectives.seconds_per_size,
                           "Time to spend on each size");
  command.link->add_flag("--oversubscribe", request.spec.oversubscribed, "Workers share cores");
  command.link->add_option("--interface", request.interface,
                           "Network between hosts: a name or an address");
  command.link->add_option("--timeout", request.timeout_s,
                           "Longest wait for another rank, in seconds");
  command.device = app.add_subcommand("device", "Measure this device; prints one line of JSON");
  command.device->add_option("--threads", request.spec.threads_per_worker, "Threads to use");
  command.device->add_option("--seconds", command.device_seconds, "Time to spend on each figure");
}

void add_commands(CLI::App& app, Command& command) {
  app.set_version_flag("--version",
                       fmt::format("lockstep-worker {}, LibTorch {}", kVersion, torch_version()));
  app.require_subcommand(1);
  command.training = app.add_subcommand(
      "train", "Train as the rank that lockstep, mpirun, srun or torchrun gave this process");
  cli::add_train_options(*command.training, command.request);
  command.training
      ->add_option("--record", command.record_path,
                   "File for the record of the run, which rank 0 writes (default: standard output)")
      ->type_name("FILE");
  command.probing =
      app.add_subcommand("probe", "Print the capabilities of this program on this host, as JSON");
  command.naming = app.add_subcommand("names", "Print the recipes, as JSON");
  add_bench_commands(app, command);
}

record::RunStarted describe_program() {
  record::RunStarted started;
  started.machine = measure::describe_machine();
  started.build = {.version = kVersion,
                   .compiler = fmt::format("{} {}", __GNUC__ > 0 ? "GCC" : "C++", __VERSION__),
                   .torch = torch_version(),
                   .blas = blas_name()};
  return started;
}

void warn_of_slow_blas() {
  if (!is_reference_blas()) return;
  log_warning(
      "LibTorch uses the reference BLAS: linear layers are up to 30 times slower than with "
      "OpenBLAS (apt-get install libopenblas0-openmp)");
}

/// Lines on standard output, for `lockstep bench`; the record is closed as that of a run is.
void bench_link(Command& command, int gpu, RankConnection& connection, EventChannel& events) {
  comm::Communicator& communicator = connection.communicator();
  command.collectives.gpu = gpu;
  command.collectives.nodes = command.request.spec.nodes;
  command.collectives.host = comm::host_name();
  bench_collectives(command.collectives, communicator, connection.clock(),
                    [](const std::string& line) {
                      fmt::print("{}\n", line);
                      std::fflush(stdout);
                    });
  if (communicator.rank() == 0) events.send(record::RunEnded{});
}

/// Exceptions of LibTorch carry a stack trace, which belongs into no message.
std::string reason_of(const std::exception& problem) {
  const auto* of_torch = dynamic_cast<const c10::Error*>(&problem);
  return of_torch != nullptr ? of_torch->what_without_backtrace() : problem.what();
}

/// Runs one rank to its end; an error ends the process in here.
void run_rank(Command& command, const comm::Placement& place, EventChannel& events) {
  record::TrainRequest& request = command.request;
  set_up_process(command.link->parsed() ? 1 : request.spec.threads_per_worker);
  train::set_device_environment(request.spec);
  RankConnection connection(place, request, events);
  try {
    if (command.link->parsed()) {
      bench_link(command, place.gpu, connection, events);
    } else {
      if (place.rank == 0) warn_of_slow_blas();
      train::Trainer trainer(
          request, describe_program(), connection.communicator(), connection.clock(),
          [&](const record::Event& event) { events.send(event); }, stop_flag(), place.gpu);
      trainer.run();
    }
    connection.leave();
  } catch (const Error& error) {
    connection.fail(error);
  } catch (const std::exception& problem) {
    connection.fail(Error(ErrorKind::kInternal, reason_of(problem)));
  }
}

/// Answers questions about this program and its machine; false if there was none.
bool answer(const Command& command) {
  if (command.probing->parsed()) {
    fmt::print("{}\n", probe());
  } else if (command.naming->parsed()) {
    fmt::print("{}\n", known_names());
  } else if (command.device->parsed()) {
    set_up_process(command.request.spec.threads_per_worker);
    fmt::print("{}\n", bench_device(SystemClock(), command.device_seconds));
  } else {
    return false;
  }
  return true;
}

int parse(CLI::App& app, int argc, char** argv, bool& over) {
  try {
    app.parse(argc, argv);
    return 0;
  } catch (const CLI::ParseError& problem) {
    over = true;
    return app.exit(problem) == 0 ? 0 : exit_code(ErrorKind::kUsage);
  }
}

/// One rank of one run.
int run(int argc, char** argv) {
  int rank = 0;
  std::unique_ptr<EventChannel> events;
  try {
    comm::Placement place = comm::placement_from_environment(
        [](const char* name) -> const char* { return std::getenv(name); });
    rank = place.rank;
    prepare_environment(place, argv);
    end_with_starter(place);
    set_up_log(place.size > 1 ? fmt::format("[rank {}/{}]", place.rank, place.size) : "");
    Command command;
    command.request.spec.batch_per_worker = 0;  // the recipe's own unless --batch is given
    command.request.spec.threads_per_worker = threads_by_default(place);
    command.request.spec.oversubscribed = is_oversubscribed(place);
    CLI::App app{
        "One rank of a Lockstep run, started by lockstep train, mpirun, srun or torchrun."};
    add_commands(app, command);
    bool over = false;
    const int code = parse(app, argc, argv, over);
    if (over) return code;
    if (answer(command)) return 0;
    // Of several ranks, only rank 0 has a record to write.
    events = std::make_unique<EventChannel>(place.rank == 0 ? command.record_path : "");
    // NCCL sums on GPUs: each rank of the benchmark needs its own, as one that trains does.
    if (command.link->parsed() && command.request.spec.backend == record::Backend::kNccl) {
      command.request.spec.device = "cuda";
    }
    cli::check_train_request(command.request);
    if (command.request.workers_auto) {
      throw Error(ErrorKind::kUsage, "a worker cannot choose --workers auto",
                  "give the number of workers, or use lockstep train");
    }
    if (command.request.spec.device == "cuda") {
      place.gpu = comm::own_gpu(place.local_rank, train::Device::visible_gpus());
      // NCCL's own message for a GPU that is not there names neither it nor the remedy.
      train::Device::require_gpu(place.gpu);
      place.gpu_id =
          comm::gpu_id(train::Device::pci_id_of(place.gpu), std::getenv("CUDA_VISIBLE_DEVICES"));
    }
    events->start_beating();
    run_rank(command, place, *events);
    return 0;
  } catch (const Error& error) {
    if (!events) events = std::make_unique<EventChannel>("");
    report_error(*events, rank, rank, error);
    return exit_code(error.kind());
  } catch (const std::exception& problem) {
    if (!events) events = std::make_unique<EventChannel>("");
    report_error(*events, rank, rank, Error(ErrorKind::kInternal, reason_of(problem)));
    return exit_code(ErrorKind::kInternal);
  }
}

}  // namespace
}  // namespace lockstep::worker

int main(int argc, char** argv) {
  const int code = lockstep::worker::run(argc, argv);
  std::fflush(nullptr);
  // All that is ours is closed by now; taking down LibTorch's tables takes a tenth of a second.
  ::_exit(code);
}
