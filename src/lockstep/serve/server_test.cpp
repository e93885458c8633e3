#include "lockstep/serve/server.h"

#include <gtest/gtest.h>
#include <httplib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
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
      imported_ = name;
      std::ifstream in(path, std::ios::binary);
      content_.assign(std::istreambuf_iterator<char>(in), {});
      return std::string("{\"added\":1}");
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

TEST_F(ServerTest, AsksForItsTokenAndKeepsItInACookie) {
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

TEST_F(ServerTest, ImportsAFileUnderItsNameWithoutFolders) {
  httplib::Client client = start();
  const auto answer = client.Post("/api/import?name=..%2F..%2Fa%20log.txt", kOurs, "content",
                                  "application/octet-stream");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200) << answer->body;
  EXPECT_EQ(imported_, "a_log.txt");
  EXPECT_EQ(content_, "content");
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

TEST_F(ServerTest, SurvivesBytesThatAreNoRequest) {
  start();
  std::mt19937 random(3);
  for (int round = 0; round < 50; ++round) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port_));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
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
