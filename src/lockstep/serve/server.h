#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lockstep/base/clock.h"
#include "lockstep/serve/access.h"

namespace lockstep::serve {

/// Which runs a page is asked for: those named, else a study, else all.
struct PageQuestion {
  std::string study;
  std::vector<std::int64_t> runs;
};

/// What the server shows, made by functions that its owner supplies. The functions are called from
/// many threads, and throw Error for what is wrong with the question.
struct Site {
  std::string html;                                      ///< of the page that asks for all else
  std::string policy;                                    ///< its content security policy
  std::function<std::string(const PageQuestion&)> page;  ///< the document of docs/formats/page.md
  /// Imports a file that was sent; `name` is what its sender called it, without folders. Gives
  /// JSON.
  std::function<std::string(const std::string& name, const std::string& path)> import_file;
  /// The same file as it is understood, line by line, without storing anything.
  std::function<std::string(const std::string& name, const std::string& path)> explain_file;
};

struct ServerOptions {
  int port = 8080;                      ///< 0 = any that is free
  std::size_t most_live = 400;          ///< live clients at a time; others are asked to wait
  std::size_t most_upload = 256 << 20;  ///< bytes of a file that is sent
};

/// HTTP for one store. Reads it, and writes only what is imported.
class Server {
 public:
  Server(std::string store_path, Access access, ServerOptions options, Site site,
         const Clock& clock);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Begins to listen, and gives the port. Throws kEnvironment when the address cannot be had.
  int start();
  /// Ends all connections. Waits for answers under way, some seconds at most.
  void stop();

 private:
  class State;
  std::unique_ptr<State> state_;
};

/// "../../etc/passwd" -> "passwd": the last part of a name, letters, digits and ._- only, never
/// hidden; "upload" when nothing is left.
std::string safe_file_name(const std::string& name);

/// "1,2,30" -> 1, 2, 30. Throws kUsage for anything else and for more than 500.
std::vector<std::int64_t> parse_run_ids(const std::string& text);

}  // namespace lockstep::serve
