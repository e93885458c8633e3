#include <fmt/format.h>

#include <xbt/log.h>
#include <cstdio>
#include <exception>
#include <iostream>
#include <new>
#include <nlohmann/json.hpp>
#include <simgrid/s4u.hpp>

#include "flows.h"
#include "lockstep/base/error.h"
#include "lockstep/simulate/network/network_request.h"
#include "messages.h"
#include "platform.h"
#include "routes.h"

namespace {

using namespace lockstep;

simulate::NetworkRequest read_request() {
  try {
    // Up to the end of the line: the parent keeps the pipe open.
    std::string line;
    std::getline(std::cin, line);
    return nlohmann::json::parse(line).get<simulate::NetworkRequest>();
  } catch (const nlohmann::json::exception& problem) {
    throw Error(ErrorKind::kUsage, fmt::format("no request on stdin: {}", problem.what()),
                "lockstep-sim is started by lockstep simulate");
  }
}

void print_progress(std::size_t done, std::size_t all) {
  fmt::print(stderr, "progress {}/{}\n", done, all);
  std::fflush(stderr);
}

simulate::NetworkAnswer answer_to(simulate::NetworkRequest request, simgrid::s4u::Engine& engine) {
  sim::set_network_model();
  const auto hosts = sim::make_platform(engine, request.cluster);
  request.cluster.link = sim::slowest_route(request, hosts);
  simulate::NetworkAnswer answer;
  if (request.messages) {
    answer.times = sim::time_messages(request, engine, hosts, print_progress);
    return answer;
  }
  simgrid::s4u::Actor::create("conductor", hosts.front(), [&] {
    answer.times = sim::time_rounds(request, hosts, print_progress);
  });
  engine.run();
  return answer;
}

int report(const Error& error) {
  fmt::print(stderr, "{}", format_error(error));
  return exit_code(error.kind());
}

}  // namespace

/// `lockstep-sim`: times all-reduces on a simulated network. One request on stdin, one answer on
/// stdout, progress on stderr. A program of its own because SimGrid exports the symbols of MPI.
int main(int argc, char** argv) {
  simgrid::s4u::Engine engine(&argc, argv);
  xbt_log_control_set("root.thres:error");
  try {
    const nlohmann::json answer = answer_to(read_request(), engine);
    fmt::print("{}\n", answer.dump());
    return 0;
  } catch (const Error& error) {
    return report(error);
  } catch (const std::bad_alloc&) {
    return report(Error(ErrorKind::kEnvironment, "the simulated network needs too much memory",
                        "simulate fewer --workers, more --per-host or a smaller platform"));
  } catch (const std::exception& problem) {
    return report(Error(ErrorKind::kInternal, problem.what(), "this is a bug; report it"));
  }
}
