#include "lockstep/serve/server.h"

#include <gtest/gtest.h>
#include <httplib.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "lockstep/base/error.h"

namespace lockstep::serve {
namespace {

class ServerTest : public ::testing::Test {
 protected:
  ServerTest() {
    std::string pattern = ::testing::TempDir() + "lockstep-serve-XXXXXX";
    if (::mkdtemp(pattern.data()) != nullptr) folder_ = pattern;
  }
  ~ServerTest() override {
    server_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  httplib::Client start(const std::string& token = "") {
    Site site;
    site.html = "<p>hello</p>";
    site.policy = "default-src 'none'";
    site.page = [](const PageQuestion& question) {
      if (question.study == "none") throw Error(ErrorKind::kData, "no such study", "look again");
      return "{\"study\":\"" + question.study + "\"}";
    };
    site.import_file = [this](const std::string& name, const std::string& path) {
      if (name == "bad.log") throw Error(ErrorKind::kData, path + " is of no known format", "");
      imported_ = name;
      std::ifstream in(path, std::ios::binary);
      content_.assign(std::istreambuf_iterator<char>(in), {});
      return std::string("{\"added\":1}");
    };
    site.explain_file = [](const std::string& name, const std::string&) {
      return "{\"summary\":\"" + name + "\"}";
    };
    server_ = std::make_unique<Server>(
        folder_ + "/lockstep.db", Access("127.0.0.1", token),
        ServerOptions{.port = 0, .most_live = 2, .most_upload = 1000}, std::move(site), clock_);
    port_ = server_->start();
    httplib::Client client("127.0.0.1", port_);
    client.set_read_timeout(20);
    return client;
  }

  std::string folder_;
  std::string imported_;
  std::string content_;
  int port_ = 0;
  SystemClock clock_;
  std::unique_ptr<Server> server_;
};

const httplib::Headers kOurs{{"X-Lockstep", "1"}};

TEST_F(ServerTest, ServesThePageWithItsPolicyAndTheData) {
  httplib::Client client = start();
  const auto page = client.Get("/");
  ASSERT_TRUE(page);
  EXPECT_EQ(page->status, 200);
  EXPECT_EQ(page->get_header_value("Content-Security-Policy"), "default-src 'none'");
  EXPECT_EQ(page->get_header_value("X-Content-Type-Options"), "nosniff");
  EXPECT_EQ(client.Get("/api/runs")->status, 200);
  EXPECT_EQ(client.Get("/api/page?study=a")->body, "{\"study\":\"a\"}");
  EXPECT_EQ(client.Get("/api/page?study=none")->status, 404);
}

TEST_F(ServerTest, RefusesOtherNamesOtherMethodsAndPathsOutOfTheStore) {
  httplib::Client client = start();
  EXPECT_EQ(client.Get("/", httplib::Headers{{"Host", "evil.example"}})->status, 421);
  EXPECT_EQ(client.Delete("/")->status, 405);
  for (const char* path : {"/../../etc/passwd", "/..%2f..%2fetc%2fpasswd", "/lockstep.db", "//etc",
                           "/%00", "/api", "/api/../lockstep.db", "/.git/config"}) {
    const auto answer = client.Get(path);
    if (!answer) continue;  // closed without an answer is a refusal too
    EXPECT_GE(answer->status, 400) << path;
  }
  EXPECT_EQ(client.Get("/api/page?runs=1;drop")->status, 400);
  EXPECT_EQ(client.Get("/api/page?runs=-1")->status, 400);
}

TEST_F(ServerTest, RequiresItsTokenAndKeepsItInACookie) {
  const std::string token = "0123456789abcdef";
  httplib::Client client = start(token);
  EXPECT_EQ(client.Get("/")->status, 401);
  EXPECT_EQ(client.Get("/api/runs")->status, 401);
  EXPECT_EQ(client.Get("/?token=wrong")->status, 401);
  const auto entry = client.Get("/?token=" + token);
  EXPECT_EQ(entry->status, 303);
  EXPECT_EQ(entry->get_header_value("Location"), "/");
  const std::string set = entry->get_header_value("Set-Cookie");
  EXPECT_NE(set.find("HttpOnly"), std::string::npos);
  EXPECT_NE(set.find("SameSite=Strict"), std::string::npos);
  const httplib::Headers kept{{"Cookie", set.substr(0, set.find(';'))}};
  EXPECT_EQ(client.Get("/", kept)->status, 200);
  EXPECT_EQ(client.Get("/", httplib::Headers{{"Authorization", "Bearer " + token}})->status, 200);
}

TEST_F(ServerTest, LeavesAPortToTheServerThatHasIt) {
  start();
  Server second(folder_ + "/other.db", Access("127.0.0.1", ""), ServerOptions{.port = port_},
                Site{}, clock_);
  try {
    second.start();
    FAIL() << "two servers share port " << port_;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kEnvironment);
  }
}

TEST_F(ServerTest, ImportsAFileUnderItsNameWithoutFolders) {
  httplib::Client client = start();
  const auto answer = client.Post("/api/import?name=..%2F..%2Fa%20log.txt", kOurs, "content",
                                  "application/octet-stream");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200) << answer->body;
  EXPECT_EQ(imported_, "a_log.txt");
  EXPECT_EQ(content_, "content");
}

TEST_F(ServerTest, ExplainsAFileWithoutImportingIt) {
  httplib::Client client = start();
  const auto answer =
      client.Post("/api/import?explain=1&name=a.log", kOurs, "content", "application/octet-stream");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200) << answer->body;
  EXPECT_EQ(nlohmann::json::parse(answer->body)["summary"], "a.log");
  EXPECT_EQ(imported_, "");
}

TEST_F(ServerTest, TakesNoFilesFromOtherPagesAndNoneThatAreTooLarge) {
  httplib::Client client = start();
  const std::string type = "application/octet-stream";
  EXPECT_EQ(client.Post("/api/import?name=a", "x", type)->status, 403);
  const httplib::Headers foreign{{"X-Lockstep", "1"}, {"Origin", "http://evil.example"}};
  EXPECT_EQ(client.Post("/api/import?name=a", foreign, "x", type)->status, 403);
  const auto large = client.Post("/api/import?name=a", kOurs, std::string(5000, 'x'), type);
  if (large) {
    EXPECT_GE(large->status, 400);
  }
  EXPECT_EQ(client.Post("/api/import?name=a", kOurs, "", type)->status, 400);
  EXPECT_EQ(imported_, "");
}

TEST_F(ServerTest, EndsRequestsWithHugeHeads) {
  httplib::Client client = start();
  httplib::Headers many;
  for (int i = 0; i < 400; ++i) many.emplace("X-" + std::to_string(i), std::string(100, 'x'));
  const auto answer = client.Get("/", many);
  if (answer) {
    EXPECT_GE(answer->status, 400);
  }
  EXPECT_EQ(httplib::Client("127.0.0.1", port_).Get("/")->status, 200);
}

int connected_to(int port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  return socket;
}

/// Sends the bytes and nothing more, and gives what comes back until the server closes.
std::string answer_to(int port, const std::string& bytes) {
  const int socket = connected_to(port);
  ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  ::shutdown(socket, SHUT_WR);
  std::string answer;
  std::array<char, 4096> part{};
  for (ssize_t size = 0; (size = ::recv(socket, part.data(), part.size(), 0)) > 0;) {
    answer.append(part.data(), static_cast<std::size_t>(size));
  }
  ::close(socket);
  return answer;
}

TEST_F(ServerTest, PreloadsTheDataThatThePageWillRequest) {
  start();
  const auto link_of = [this](const std::string& target) {
    const std::string answer =
        answer_to(port_, "GET " + target + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
    const std::size_t at = answer.find("Link: ");
    return at == std::string::npos ? "" : answer.substr(at, answer.find('\r', at) - at);
  };
  EXPECT_EQ(link_of("/?study=a%20b&x=1"),
            "Link: </api/page?study=a%20b&x=1>; rel=preload; as=fetch; crossorigin");
  EXPECT_EQ(link_of("/"), "");
  EXPECT_EQ(link_of("/?study=a>,<b"), "");
}

TEST_F(ServerTest, RefusesAtOnceWhatIsAnnouncedTooLargeOrWrong) {
  start();
  for (const char* length : {"999999999999", "-5", "9999999999999999999999", "12x"}) {
    const std::string answer =
        answer_to(port_, std::string("POST /api/import?name=a HTTP/1.1\r\nHost: localhost\r\n"
                                     "X-Lockstep: 1\r\nContent-Length: ") +
                             length + "\r\n\r\n");
    EXPECT_EQ(answer.rfind("HTTP/1.1 4", 0), 0u) << length << ": " << answer;
  }
  EXPECT_EQ(imported_, "");
}

/// A page elsewhere can make a browser send any text as a body, but not our header.
TEST_F(ServerTest, TakesNoBodyForTheNextRequest) {
  start();
  const std::string hidden =
      "POST /api/import?name=hidden HTTP/1.1\r\nHost: localhost\r\nX-Lockstep: 1\r\n"
      "Content-Length: 1\r\n\r\nx";
  const std::string length = "Content-Length: " + std::to_string(hidden.size());
  for (const std::string& first :
       {"POST / HTTP/1.1\r\nHost: localhost\r\n" + length,
        "GET / HTTP/1.1\r\nHost: localhost\r\n" + length,
        "POST /api/import HTTP/1.1\r\nHost: evil.example\r\nConnection: keep-alive\r\n" + length,
        std::string("POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked"),
        std::string("nonsense")}) {
    const std::string answer = answer_to(port_, first + "\r\n\r\n" + hidden);
    EXPECT_EQ(answer.find("HTTP/1.1 ", 1), std::string::npos) << first << ": " << answer;
    EXPECT_EQ(imported_, "") << first;
  }
}

TEST_F(ServerTest, ReportsWhyItRefusesWhileTheClientIsStillSending) {
  start();
  const std::string answer =
      answer_to(port_,
                "POST /api/import?name=a HTTP/1.1\r\nHost: localhost\r\nX-Lockstep: 1\r\n"
                "Content-Length: 4000000\r\n\r\n" +
                    std::string(4'000'000, 'x'));
  EXPECT_NE(answer.find("files are limited to"), std::string::npos) << answer;
}

TEST_F(ServerTest, TakesNoBodiesElsewhere) {
  httplib::Client client = start();
  const auto answer = client.Post("/api/runs", kOurs, "x", "text/plain");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 404);
}

TEST_F(ServerTest, ImportsNoFileThatDidNotArriveWhole) {
  start();
  answer_to(port_,
            "POST /api/import?name=a HTTP/1.1\r\nHost: localhost\r\nX-Lockstep: 1\r\n"
            "Content-Length: 100\r\n\r\nonly this");
  EXPECT_EQ(imported_, "");
}

TEST_F(ServerTest, ErrorsOfAnImportNameTheFileAsItsSenderDoes) {
  httplib::Client client = start();
  const auto answer =
      client.Post("/api/import?name=bad.log", kOurs, "content", "application/octet-stream");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 400);
  EXPECT_EQ(nlohmann::json::parse(answer->body)["error"], "bad.log is of no known format");
}

TEST_F(ServerTest, SurvivesBytesThatAreNotARequest) {
  start();
  std::mt19937 random(3);
  for (int round = 0; round < 50; ++round) {
    const int socket = connected_to(port_);
    std::string bytes(1 + random() % 400, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    if (round % 3 == 0)
      bytes = "GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n" + bytes;
    if (round % 3 == 1)
      bytes = "POST /api/import HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + bytes;
    ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    ::close(socket);
  }
  EXPECT_EQ(httplib::Client("127.0.0.1", port_).Get("/")->status, 200);
}

TEST_F(ServerTest, StreamsToSoManyAtATimeAndLetsGoWhenItStops) {
  start();
  std::atomic<int> greeted = 0;
  std::vector<std::jthread> watchers;
  for (int i = 0; i < 2; ++i) {
    watchers.emplace_back([&] {
      httplib::Client client("127.0.0.1", port_);
      client.set_read_timeout(60);
      client.Get("/api/live", [&](const char* data, std::size_t size) {
        greeted += std::string(data, size).find("event: hello") != std::string::npos;
        greeted.notify_all();
        return true;
      });
    });
  }
  for (int seen = greeted; seen < 2; seen = greeted) greeted.wait(seen);
  EXPECT_EQ(httplib::Client("127.0.0.1", port_).Get("/api/live")->status, 503);
  server_->stop();
  watchers.clear();
}

/// It asks for the stream and takes in nothing: its thread must not hold anybody up.
TEST_F(ServerTest, ServesOthersWhileAWatcherNeverReads) {
  start();
  std::vector<int> sockets;
  for (int i = 0; i < 2; ++i) {
    sockets.push_back(connected_to(port_));
    const int least = 1;
    ::setsockopt(sockets.back(), SOL_SOCKET, SO_RCVBUF, &least, sizeof least);
    const std::string request = "GET /api/live HTTP/1.1\r\nHost: localhost\r\n\r\n";
    ::send(sockets.back(), request.data(), request.size(), MSG_NOSIGNAL);
  }
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(httplib::Client("127.0.0.1", port_).Get("/api/runs")->status, 200);
  }
  server_->stop();
  for (const int socket : sockets) ::close(socket);
}

/// A client that sends a byte now and then occupies a thread, and no more.
TEST_F(ServerTest, ServesOthersWhileManySendTheirRequestsSlowly) {
  start();
  std::vector<int> sockets;
  for (int i = 0; i < 60; ++i) {
    sockets.push_back(connected_to(port_));
    ::send(sockets.back(), "GET / HT", 8, MSG_NOSIGNAL);
  }
  EXPECT_EQ(httplib::Client("127.0.0.1", port_).Get("/api/runs")->status, 200);
  for (const int socket : sockets) ::close(socket);
}

TEST_F(ServerTest, AnswersAgainWhenAStoreThatCouldNotBeReadIsRemoved) {
  httplib::Client client = start();
  std::ofstream(folder_ + "/lockstep.db") << std::string(8192, 'x');
  const auto damaged = client.Get("/api/runs");
  ASSERT_TRUE(damaged);
  EXPECT_EQ(damaged->status, 404);
  EXPECT_NE(damaged->body.find("not a lockstep store"), std::string::npos) << damaged->body;
  std::filesystem::remove(folder_ + "/lockstep.db");
  EXPECT_EQ(client.Get("/api/runs")->status, 200);
}

TEST(SafeFileName, KeepsNoFoldersAndNothingHidden) {
  EXPECT_EQ(safe_file_name("exp_4gpus.log"), "exp_4gpus.log");
  EXPECT_EQ(safe_file_name("/etc/passwd"), "passwd");
  EXPECT_EQ(safe_file_name("..\\..\\x.csv"), "x.csv");
  EXPECT_EQ(safe_file_name("..."), "upload");
  EXPECT_EQ(safe_file_name(""), "upload");
  EXPECT_EQ(safe_file_name("a\nb\xff.log"), "a_b_.log");
  EXPECT_LE(safe_file_name(std::string(5000, 'a')).size(), 120u);
}

TEST(ParseRunIds, TakesNumbersWithCommasOnly) {
  EXPECT_EQ(parse_run_ids("1,2,30"), (std::vector<std::int64_t>{1, 2, 30}));
  for (const char* wrong : {"", ",", "1,", "a", "1;2", "0", "-1", "99999999999999999999"}) {
    EXPECT_THROW(parse_run_ids(wrong), Error) << wrong;
  }
  std::string many = "1";
  for (int i = 0; i < 600; ++i) many += ",1";
  EXPECT_THROW(parse_run_ids(many), Error);
}

}  // namespace
}  // namespace lockstep::serve
