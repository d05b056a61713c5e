#include "launch/mpi_session.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>

namespace spillway::launch {
namespace {

namespace fs = std::filesystem;

class MpiSession : public testing::Test {
 protected:
  MpiSession() {
    std::string name = testing::TempDir() + "sessions-XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~MpiSession() override { fs::remove_all(folder_); }

  fs::path folder_;
};

TEST_F(MpiSession, IsMadeForItsOwnerAlone) {
  const fs::path session = folder_ / "ompi.host.0" / "pid.1";
  make_session(session);
  EXPECT_EQ(fs::status(session).permissions(), fs::perms::owner_all);
  EXPECT_EQ(fs::status(session.parent_path()).permissions(), fs::perms::owner_all);
}

TEST_F(MpiSession, IsThereHoweverOftenTheLastJobsEndRemovesTheOneInCommon) {
  const fs::path session = folder_ / "ompi.host.0" / "pid.1";
  std::atomic<bool> is_over = false;
  std::thread ends_of_others([&] {
    while (!is_over) rmdir(session.parent_path().c_str());
  });
  int missing = 0;
  for (int job = 0; job < 500; ++job) {
    make_session(session);
    missing += !fs::exists(session);
    remove_session(session);
  }
  is_over = true;
  ends_of_others.join();
  EXPECT_EQ(missing, 0);
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(MpiSession, OfAnotherJobStays) {
  const fs::path own = folder_ / "ompi.host.0" / "pid.1", other = folder_ / "ompi.host.0" / "pid.2";
  make_session(own);
  make_session(other);
  remove_session(own);
  EXPECT_FALSE(fs::exists(own));
  EXPECT_TRUE(fs::exists(other));
}

TEST_F(MpiSession, WhoseFolderCannotBeMadeIsLeftToTheLauncher) {
  make_session(folder_ / "missing" / "ompi.host.0" / "pid.1");
  EXPECT_TRUE(fs::is_empty(folder_));
}

}  // namespace
}  // namespace spillway::launch
