#include <fmt/format.h>
#include <poll.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "calibrated_links.h"
#include "command.h"
#include "lockstep/base/error.h"
#include "lockstep/base/loopback.h"
#include "lockstep/import/import_store.h"
#include "lockstep/launch/signal_inbox.h"
#include "lockstep/report/page/html.h"
#include "lockstep/report/page/page_source.h"
#include "lockstep/serve/server.h"

namespace lockstep::cli {
namespace {

struct ServeOptions {
  std::string host = "127.0.0.1";
  int port = 8080;
  std::string token_file;
};

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
              fmt::format("{} has no token of 16 characters or more", options.token_file),
              "make one: openssl rand -hex 16 > " + options.token_file);
}

serve::Site site_of(const std::string& store_path) {
  serve::Site site;
  site.html = report::live_html();
  site.policy = report::live_policy();
  const auto digests = std::make_shared<collect::RunDigests>();
  site.page = [store_path, digests](const serve::PageQuestion& question) {
    std::error_code ignored;
    report::PageSource source;
    if (std::filesystem::exists(store_path, ignored)) {
      store::Store store(store_path);
      report::StudyOptions options;
      use_calibrated_links(store_path, question.study, options);
      source = report::stored_page(store, {question.study, question.runs}, *digests, options);
    }
    return report::page_json(report::build_page(source))
        .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  };
  site.import_file = [store_path](const std::string& name, const std::string& path) {
    return import::import_sent_file(store_path, name, path)
        .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  };
  return site;
}

void wait_for_stop(launch::SignalInbox& signals) {
  while (signals.take_stop_requests() == 0) {
    pollfd waiting{signals.fd(), POLLIN, 0};
    ::poll(&waiting, 1, 1000);
  }
}

void run(const GlobalOptions& global, const ServeOptions& options) {
  // Before any thread starts, so that all of them leave the signals to it.
  launch::SignalInbox signals;
  const SystemClock clock;
  const serve::Access access(options.host, token_for(options));
  serve::Server server(global.store_path, access, {.port = options.port},
                       site_of(global.store_path), clock);
  const int port = server.start();
  const std::string shown = options.host == "::1" ? "[::1]" : options.host;
  const std::string url =
      fmt::format("http://{}:{}/{}", shown, port,
                  access.needs_token() ? "?token=" + access.token() : std::string());
  if (global.json) {
    fmt::print("{}\n", nlohmann::json{{"url", url}, {"port", port}}.dump());
  } else {
    fmt::print("{} at {}\n", global.store_path, url);
    if (access.needs_token()) {
      fmt::print("warning: traffic is not encrypted; a tunnel (ssh -L) is safer than --host\n");
    }
    fmt::print("Ctrl-C ends it\n");
  }
  std::fflush(stdout);
  wait_for_stop(signals);
  server.stop();
}

}  // namespace

void add_serve_command(CLI::App& app, const GlobalOptions& global) {
  const auto options = std::make_shared<ServeOptions>();
  CLI::App& command =
      add_command(app, "serve", "Shows runs and studies live in a browser, while they go on.",
                  {"lockstep serve", "lockstep serve --store runs.db --port 0",
                   "lockstep serve --host 0.0.0.0 --token-file token.txt"});
  command
      .add_option("--host", options->host,
                  "Address to listen on; any but loopback asks its visitors for a token")
      ->type_name("ADDRESS")
      ->capture_default_str();
  command.add_option("--port", options->port, "Port to listen on; 0 = any that is free")
      ->type_name("PORT")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  command
      .add_option("--token-file", options->token_file,
                  "File with the token; made up and printed without, where one is needed")
      ->type_name("FILE");
  set_action(command, [&global, options] { run(global, *options); });
}

}  // namespace lockstep::cli
