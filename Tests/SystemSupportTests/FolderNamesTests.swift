import Glibc
import SystemSupport
import Testing

@Suite struct FolderNamesTests {
    @Test("a folder's names are read without . and .., and a missing folder is an error of opendir")
    func names() throws {
        let names = try FolderNames.read("/proc/self")
        #expect(Set(["status", "task", "fd"]).isSubset(of: names) && !names.contains("."))
        #expect(throws: SystemError("opendir", number: ENOENT)) { try FolderNames.read("/proc/self/none") }
        #expect(throws: SystemError("opendir", number: ENOTDIR)) { try FolderNames.read("/proc/self/status") }
    }
}
