#include "understand/serve_command.h"

#include <fmt/format.h>
#include <poll.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "lockstep/base/error.h"
#include "lockstep/base/system/loopback.h"
#include "lockstep/launch/process/signal_inbox.h"
#include "understand/live_site.h"

namespace lockstep::cli {
namespace {

/// From the file that was named; made up where other machines could ask; else none.
std::string token_for(const ServeOptions& options) {
  if (options.token_file.empty()) {
    return is_loopback(options.host) ? "" : serve::fresh_token();
  }
  std::ifstream in(options.token_file);
  std::string token;
  in >> token;
  if (token.size() >= 16) return token;
  throw Error(ErrorKind::kUsage,
              fmt::format("{} contains no token of 16 characters or more", options.token_file),
              "create one: openssl rand -hex 16 > " + options.token_file);
}

void wait_for_stop(launch::SignalInbox& signals) {
  while (signals.take_stop_requests() == 0) {
    pollfd waiting{signals.fd(), POLLIN, 0};
    ::poll(&waiting, 1, 1000);
  }
}

}  // namespace

void serve_store(const GlobalOptions& global, const ServeOptions& options) {
  // Before any thread starts, so that all of them leave the signals to it.
  launch::SignalInbox signals;
  const SystemClock clock;
  const serve::Access access(options.host, token_for(options));
  serve::Server server(global.store_path, access, {.port = options.port},
                       live_site(global.store_path), clock);
  const int port = server.start();
  const std::string shown = options.host == "::1" ? "[::1]" : options.host;
  const std::string url =
      fmt::format("http://{}:{}/{}", shown, port,
                  access.needs_token() ? "?token=" + access.token() : std::string());
  if (global.json) {
    fmt::print("{}\n", nlohmann::json{{"url", url}, {"port", port}}.dump());
  } else {
    fmt::print("{} at {}\n", global.store_path, url);
    if (!std::filesystem::exists(global.store_path)) {
      fmt::print("note: {} does not exist yet; runs appear as soon as it does\n",
                 global.store_path);
    }
    if (access.needs_token()) {
      fmt::print("warning: traffic is not encrypted; a tunnel (ssh -L) is safer than --host\n");
    }
    fmt::print("press Ctrl-C to stop\n");
  }
  std::fflush(stdout);
  wait_for_stop(signals);
  server.stop();
}

void add_serve_command(CLI::App& app, const GlobalOptions& global) {
  const auto options = std::make_shared<ServeOptions>();
  CLI::App& command = add_command(app, "serve", "Shows runs and studies live in a browser.",
                                  {"lockstep serve", "lockstep serve --store runs.db --port 0",
                                   "lockstep serve --host 0.0.0.0 --token-file token.txt"});
  command
      .add_option("--host", options->host,
                  "Address to listen on; any other than loopback requires a token")
      ->type_name("ADDRESS")
      ->capture_default_str();
  command.add_option("--port", options->port, "Port to listen on; 0 chooses a free one")
      ->type_name("PORT")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  command
      .add_option("--token-file", options->token_file,
                  "File with the token (default: generated and printed if one is required)")
      ->type_name("FILE");
  set_action(command, [&global, options] { serve_store(global, *options); });
}

}  // namespace lockstep::cli
