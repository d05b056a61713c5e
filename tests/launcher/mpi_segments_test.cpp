#include "launch/mpi_segments.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace spillway::launch {
namespace {

bool exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

// A child with such a file of MPICH open, as between its creation and its mapping.
class MpiSegmentsTest : public testing::Test {
 protected:
  MpiSegmentsTest() {
    const int file = mkstemp(path_.data());
    child_ = fork();
    if (child_ == 0)
      while (true) pause();
    close(file);
  }
  ~MpiSegmentsTest() override {
    end_child();
    unlink(path_.c_str());
  }

  void end_child() {
    if (child_ <= 0) return;
    kill(child_, SIGKILL);
    EXPECT_EQ(waitpid(child_, &wait_status_, 0), child_);
    child_ = 0;
  }

  std::string path_ = "/dev/shm/mpich_shar_tmpXXXXXX";
  pid_t child_ = 0;
  int wait_status_ = 0;
  MpiSegments segments_;
};

TEST_F(MpiSegmentsTest, removes_a_file_that_was_open_but_not_yet_mapped) {
  segments_.signal_after_note(child_, SIGTERM);
  EXPECT_EQ(waitpid(child_, &wait_status_, 0), child_);
  EXPECT_EQ(WTERMSIG(wait_status_), SIGTERM);
  child_ = 0;
  segments_.remove();
  EXPECT_FALSE(exists(path_));
}

TEST_F(MpiSegmentsTest, a_process_that_survives_the_signal_goes_on) {
  segments_.signal_after_note(child_, SIGWINCH);
  siginfo_t info{};
  EXPECT_EQ(waitid(P_PID, static_cast<id_t>(child_), &info, WCONTINUED), 0);
  EXPECT_EQ(info.si_code, CLD_CONTINUED);
}

TEST_F(MpiSegmentsTest, orphans_are_files_of_this_job_that_no_process_holds) {
  segments_.note_orphans(time(nullptr) - 60);
  segments_.remove();
  EXPECT_TRUE(exists(path_));  // the child has it open
  end_child();
  segments_.note_orphans(time(nullptr) + 60);
  segments_.remove();
  EXPECT_TRUE(exists(path_));  // older than the job
  segments_.note_orphans(time(nullptr) - 60);
  segments_.remove();
  EXPECT_FALSE(exists(path_));
}

}  // namespace
}  // namespace spillway::launch
