#include "lockstep/serve/server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "lockstep/base/error.h"
#include "lockstep/base/units.h"
#include "lockstep/serve/bounded_server.h"
#include "lockstep/serve/live_feed.h"
#include "lockstep/serve/page_cache.h"
#include "lockstep/serve/run_watch.h"
#include "lockstep/serve/upload.h"

namespace lockstep::serve {
namespace {

using httplib::Request;
using httplib::Response;
using namespace std::chrono_literals;
using HandlerResponse = httplib::Server::HandlerResponse;

constexpr const char* kCookie = "lockstep_token";
constexpr const char* kImportPath = "/api/import";
constexpr auto kLookEvery = 1s;
constexpr auto kHeartbeat = 15s;

int http_status(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kUsage:
      return 400;
    case ErrorKind::kData:
      return 404;
    case ErrorKind::kEnvironment:
      return 503;
    default:
      return 500;
  }
}

void answer_error(Response& response, int status, const std::string& message,
                  const std::string& hint = "") {
  response.status = status;
  const nlohmann::json body{{"error", message}, {"hint", hint}};
  response.set_content(body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace),
                       "application/json");
}

/// The same for every answer: nothing is guessed, framed, cached or leaked to other sites.
void set_safe_headers(Response& response) {
  response.set_header("X-Content-Type-Options", "nosniff");
  response.set_header("X-Frame-Options", "DENY");
  response.set_header("Referrer-Policy", "no-referrer");
  response.set_header("Cross-Origin-Resource-Policy", "same-origin");
  response.set_header("Cache-Control", "no-store");
}

}  // namespace

class Server::State {
 public:
  State(std::string store_path, Access access, ServerOptions options, Site site, const Clock& clock)
      : store_path_(std::move(store_path)),
        access_(std::move(access)),
        options_(options),
        site_(std::move(site)),
        watch_(store_path_, clock),
        pages_(clock),
        http_(ConnectionLimits{}) {
    http_.new_task_queue = [most = options.most_live + 128] {
      return new ThreadsOnDemand(most);  // httplib deletes it
    };
    http_.set_payload_max_length(options.most_upload);
    http_.set_tcp_nodelay(true);
    // By itself httplib lets two servers share a port, and every other request would be answered
    // from the wrong store.
    http_.set_socket_options([](socket_t socket) {
      const int yes = 1;
      ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    });
    set_rules();
    set_routes();
  }

  ~State() { stop(); }

  int start() {
    const bool any = options_.port == 0;
    const int port = any ? http_.bind_to_any_port(access_.host())
                         : (http_.bind_to_port(access_.host(), options_.port) ? options_.port : -1);
    if (port <= 0) {
      throw Error(ErrorKind::kEnvironment,
                  fmt::format("cannot listen on {}:{}", access_.host(), options_.port),
                  any ? "give --host an address of this machine; ip addr lists them"
                      : "another program may use the port; try --port 0");
    }
    http_.queue_connections(std::max(128, static_cast<int>(options_.most_live)));
    listener_ = std::thread([this] { http_.listen_after_bind(); });
    watcher_ = std::thread([this] { look(); });
    return port;
  }

  void stop() {
    feed_.close();
    if (stopping_.exchange(true)) return;
    // A server that does not listen yet would miss it.
    for (int i = 0; i < 200 && listener_.joinable() && !http_.is_running(); ++i) {
      std::this_thread::sleep_for(10ms);
    }
    http_.stop();
    if (listener_.joinable()) listener_.join();
    if (watcher_.joinable()) watcher_.join();
  }

 private:
  /// Before any route: checks whether the client is allowed.
  void set_rules() {
    http_.set_pre_routing_handler([this](const Request& request, Response& response) {
      set_safe_headers(response);
      return allowed(request, response) ? HandlerResponse::Unhandled : HandlerResponse::Handled;
    });
    const httplib::Server::Handler explain = [](const Request&, Response& response) {
      set_safe_headers(response);
      if (!response.body.empty()) return;
      answer_error(response, response.status, response.status == 404 ? "not found" : "bad request");
    };
    http_.set_error_handler(explain);
    http_.set_exception_handler(
        [](const Request&, Response& response, const std::exception_ptr& thrown) {
          set_safe_headers(response);
          try {
            std::rethrow_exception(thrown);
          } catch (const Error& error) {
            answer_error(response, http_status(error.kind()), error.what(), error.hint());
          } catch (const std::exception& problem) {
            answer_error(response, 500, problem.what());
          } catch (...) {
            answer_error(response, 500, "internal error");
          }
        });
  }

  bool allowed(const Request& request, Response& response) {
    if (!access_.host_allowed(request.get_header_value("Host"))) {
      answer_error(response, 421, "this server does not answer requests for that host name",
                   "use http://localhost");
      return false;
    }
    if (request.method != "GET" && request.method != "POST" && request.method != "HEAD") {
      answer_error(response, 405, "only GET, HEAD and POST are supported");
      return false;
    }
    if (access_.needs_token() && !has_token(request, response)) return false;
    if (request.method != "POST") return true;
    if (!from_our_page(request)) {
      answer_error(response, 403, "only this server's own page may send files");
      return false;
    }
    // Elsewhere httplib would read a body of any length into memory before it finds no route.
    if (request.path != kImportPath) {
      answer_error(response, 404, "this path accepts no data");
      return false;
    }
    return true;
  }

  bool has_token(const Request& request, Response& response) {
    const std::string bearer = request.get_header_value("Authorization");
    if (bearer.starts_with("Bearer ") && access_.token_matches(bearer.substr(7))) return true;
    if (const auto kept = cookie(request.get_header_value("Cookie"), kCookie);
        kept && access_.token_matches(*kept)) {
      return true;
    }
    if (request.path == "/" && access_.token_matches(request.get_param_value("token"))) {
      // Kept out of the address, where histories and screenshots would show it.
      response.set_header("Set-Cookie", fmt::format("{}={}; HttpOnly; SameSite=Strict; Path=/",
                                                    kCookie, access_.token()));
      response.set_redirect("/", 303);
      return false;
    }
    answer_error(response, 401, "this server requires its token",
                 "open the address that lockstep serve printed");
    return false;
  }

  /// A page elsewhere can neither set this header without asking first nor hide its origin.
  static bool from_our_page(const Request& request) {
    if (request.get_header_value("X-Lockstep") != "1") return false;
    const std::string origin = request.get_header_value("Origin");
    const std::string host = request.get_header_value("Host");
    return origin.empty() || origin == "http://" + host || origin == "https://" + host;
  }

  void set_routes() {
    http_.Get("/", [this](const Request& request, Response& response) {
      response.set_header("Content-Security-Policy", site_.policy);
      if (const auto data = data_of_page(request.target)) {
        // Asked for while the browser still reads the page's script.
        response.set_header("Link", fmt::format("<{}>; rel=preload; as=fetch; crossorigin", *data));
      }
      response.set_content(site_.html, "text/html; charset=utf-8");
    });
    http_.Get("/api/runs", [this](const Request&, Response& response) {
      response.set_content(watch_.snapshot(), "application/json");
    });
    http_.Get("/api/page", [this](const Request& request, Response& response) {
      const std::string runs = request.get_param_value("runs");
      PageQuestion question{request.get_param_value("study"), {}};
      if (!runs.empty()) question.runs = parse_run_ids(runs);
      const auto text = pages_.get(runs + "/" + question.study, store_stamp(store_path_),
                                   [&] { return site_.page(question); });
      response.set_content(*text, "application/json");
    });
    http_.Get("/api/live", [this](const Request&, Response& response) { begin_stream(response); });
    http_.Post(kImportPath, [this](const Request& request, Response& response,
                                   const httplib::ContentReader& content) {
      take_file(request, response, content);
    });
  }

  /// "/?study=a" -> "/api/page?study=a", the very address that the page's script will ask for.
  /// Nothing for the overview, and for letters that browsers send in no query.
  static std::optional<std::string> data_of_page(const std::string& target) {
    constexpr std::string_view kLetters =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%&=,+._~-";
    const std::size_t query = target.find('?');
    if (query == std::string::npos || target.size() > 2000) return std::nullopt;
    if (target.find_first_not_of(kLetters, query + 1) != std::string::npos) return std::nullopt;
    return "/api/page" + target.substr(query);
  }

  void begin_stream(Response& response) {
    if (live_.fetch_add(1) >= options_.most_live) {
      --live_;
      response.set_header("Retry-After", "30");
      answer_error(response, 503, "too many clients are connected");
      return;
    }
    auto seen = std::make_shared<std::uint64_t>(feed_.last());
    response.set_chunked_content_provider(
        "text/event-stream",
        [this, seen, begun = false](std::size_t, httplib::DataSink& sink) mutable {
          if (!begun) {
            begun = true;
            static constexpr std::string_view kHello = "retry: 3000\nevent: hello\ndata: {}\n\n";
            return sink.write(kHello.data(), kHello.size());
          }
          return pass_on(*seen, sink);
        },
        [this](bool) { --live_; });
  }

  /// One round of a stream: what is new, or a sign of life.
  bool pass_on(std::uint64_t& seen, httplib::DataSink& sink) {
    const LiveFeed::News news = feed_.wait(seen, kHeartbeat);
    seen = news.last;
    if (news.closed) {
      sink.done();
      return false;
    }
    std::string text;
    if (news.lost) {
      text = "event: lost\ndata: {}\n\n";
    } else if (news.messages.empty()) {
      text = ": still here\n\n";
    }
    for (const auto& message : news.lost ? std::vector<LiveFeed::Message>{} : news.messages) {
      text += "event: runs\ndata: " + *message + "\n\n";
    }
    return sink.write(text.data(), text.size());
  }

  void take_file(const Request& request, Response& response,
                 const httplib::ContentReader& content) {
    if (request.is_multipart_form_data()) {
      answer_error(response, 415, "send the file itself, not a form");
      return;
    }
    if (const auto length = announced_length(request); length > options_.most_upload) {
      answer_error(
          response, 413,
          fmt::format("files are limited to {}", format_bytes(Bytes{options_.most_upload})),
          "import it on the machine itself: lockstep import FILE");
      return;
    }
    Upload upload(safe_file_name(request.get_param_value("name")), options_.most_upload);
    const bool whole =
        content([&](const char* data, std::size_t size) { return upload.write(data, size); });
    upload.finish();
    if (!whole) {
      throw Error(ErrorKind::kUsage, upload.name() + " arrived incomplete", "send it again");
    }
    const bool explain = request.has_param("explain");
    response.set_content(answer_for(upload, explain ? site_.explain_file : site_.import_file),
                         "application/json");
  }

  /// Bytes that the client announces; more than any limit where the header is malformed.
  static std::uint64_t announced_length(const Request& request) {
    const std::string text = request.get_header_value("Content-Length");
    std::uint64_t length = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), length);
    const bool fine = problem == std::errc{} && end == text.data() + text.size();
    return text.empty() ? 0 : fine ? length : std::numeric_limits<std::uint64_t>::max();
  }

  /// Errors name the file as its sender does.
  static std::string answer_for(
      const Upload& upload,
      const std::function<std::string(const std::string&, const std::string&)>& take) {
    try {
      return take(upload.name(), upload.path());
    } catch (const Error& error) {
      std::string text = error.what();
      for (std::size_t at = 0; (at = text.find(upload.path(), at)) != std::string::npos;) {
        text.replace(at, upload.path().size(), upload.name());
      }
      throw Error(error.kind() == ErrorKind::kData ? ErrorKind::kUsage : error.kind(), text,
                  error.hint());
    }
  }

  /// Reads the store for all clients, and only while one is connected.
  void look() {
    while (!stopping_) {
      if (live_ > 0) {
        try {
          if (auto news = watch_.changes()) feed_.publish(std::move(*news));
        } catch (const std::exception&) {
          // A store that is being replaced, moved or damaged; the next look may find it again, and
          // requests for the runs report it.
        }
      }
      const LiveFeed::News closed = feed_.wait(feed_.last(), kLookEvery);
      if (closed.closed) return;
    }
  }

  const std::string store_path_;
  const Access access_;
  const ServerOptions options_;
  const Site site_;
  RunWatch watch_;
  PageCache pages_;
  LiveFeed feed_;
  BoundedServer http_;
  std::atomic<std::size_t> live_ = 0;
  std::atomic<bool> stopping_ = false;
  std::thread listener_;
  std::thread watcher_;
};

Server::Server(std::string store_path, Access access, ServerOptions options, Site site,
               const Clock& clock)
    : state_(std::make_unique<State>(std::move(store_path), std::move(access), options,
                                     std::move(site), clock)) {}
Server::~Server() = default;

int Server::start() {
  return state_->start();
}
void Server::stop() {
  state_->stop();
}

std::vector<std::int64_t> parse_run_ids(const std::string& text) {
  constexpr std::size_t kMost = 500;
  std::vector<std::int64_t> ids;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end && ids.size() < kMost) {
    std::int64_t id = 0;
    const auto [stop, problem] = std::from_chars(at, end, id);
    if (problem != std::errc{} || id <= 0) break;
    ids.push_back(id);
    at = stop;
    if (at == end) return ids;
    if (*at++ != ',') break;
  }
  throw Error(ErrorKind::kUsage, "runs must be run numbers separated by commas, at most 500",
              "for example runs=1,2,3");
}

}  // namespace lockstep::serve
