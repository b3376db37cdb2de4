import InferenceService
internal import ServicePlanning
import Testing

/// The detection of replaced files of the program in proc_pid_maps(5).
@Suite struct ReplacedProgramTests {
    private static let running = """
        55d5a1a00000-55d5a1b00000 r--p 00000000 08:01 1311 /usr/local/bin/ocelli
        55d5a1b00000-55d5a2000000 r-xp 00100000 08:01 1311 /usr/local/bin/ocelli
        7f10a0000000-7f10a0400000 r--p 00000000 00:2f 77 /tmp/ocelli-Xy12ab/constants (deleted)
        7f10a1000000-7f10a1400000 rwxp 00000000 00:00 0
        7f10a2000000-7f10a2400000 r-xp 00000000 00:01 9 /memfd:jit (deleted)
        7f10a3000000-7f10a3400000 r-xp 00000000 08:01 1400 /usr/local/lib/ocelli/libopenvino.so.2641

        """

    @Test("no replacement is reported while the program and its libraries are on disk")
    func filesThatAreStillThereAreNotReplaced() {
        #expect(ReplacedProgram.replaced(in: Self.running) == nil)
        #expect(ReplacedProgram.replaced(in: "") == nil)
        #expect(ReplacedProgram.replaced(in: "nothing of this form (deleted)\n r-xp (deleted)") == nil)
    }

    @Test("a deleted program or library that is still mapped is reported by its path")
    func aProgramOrLibraryThatIsGoneIsNamed() {
        for file in ["/usr/local/bin/ocelli", "/usr/local/lib/ocelli/libopenvino.so.2641", "/opt/my models/bin/ocelli"]
        {
            let line = "55d5a1b00000-55d5a2000000 r-xp 00100000 08:01 1311    \(file) (deleted)\n"
            #expect(ReplacedProgram.replaced(in: Self.running + line) == file)
        }
    }
}
