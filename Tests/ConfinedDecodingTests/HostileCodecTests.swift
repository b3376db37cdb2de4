import ConfinedDecoding
import Foundation
import ImagePipeline
import TestSupport
import Testing

/// A picture that takes over its decoding process affects only its own decoding.
@Suite struct HostileCodecTests {
    /// A long time limit: on a busy machine a process ends slowly, and these tests do not measure time.
    private let decoder = Probe.decoder(hostile: true, seconds: 90)

    /// The error of decoding a picture.
    private func error(_ order: Character, of other: ConfinedDecoder? = nil) -> ImageError? {
        do throws(ImageError) {
            _ = try (other ?? decoder).decode(Array("\(order)...".utf8), format: .bmp)
            return nil
        } catch {
            return error
        }
    }

    private func expect(_ order: Character, _ reason: String) throws {
        guard case .corrupt(let text)? = error(order) else {
            Issue.record("\(order): \(String(describing: error(order)))")
            return
        }
        #expect(text.contains(reason), "\(order): \(text)")
        let next = try decoder.decode(Array("good".utf8), format: .bmp)
        #expect(next.info.width == 4, "\(order): the next picture")
    }

    @Test(
        "a decoder that crashes, exits or writes to its picture fails it, and the next picture is decoded",
        arguments: [
            ("I", "crashed (SIGSEGV)"), ("c", "crashed (SIGSEGV)"), ("C", "crashed (SIGSEGV)"),
            ("q", "ended with status 3"),
        ])
    func crashIsTheFaultOfOnePicture(_ order: Character, _ reason: String) throws { try expect(order, reason) }

    @Test("a decoder that hangs is ended after its time limit", arguments: [Character("h"), "H", "2"])
    func hangEndsWithItsTime(_ order: Character) throws {
        guard case .corrupt(let text)? = error(order, of: Probe.decoder(hostile: true, seconds: 2)) else {
            Issue.record("it ended")
            return
        }
        #expect(text.contains("longer than 1 s") || text.contains(" s of a processor"), "\(text)")
    }

    /// Wall-clock time is not limited here, because processor time advances slowly on a busy machine.
    @Test(
        "a decoder that hangs is ended when it has had the processor's time of its picture's size",
        arguments: [(Character("h"), 1), ("H", 2)])
    func timeIsThatOfThePicturesSize(_ order: Character, _ seconds: Int) {
        #expect(
            error(order, of: Probe.decoder(hostile: true, seconds: 3_600))
                == .corrupt("BMP: decoding it took more than \(seconds) s of a processor"))
    }

    @Test("a decoder may use more processor time for the pixels than for the header")
    func timeForPixelsIsLongerThanForTheHeader() {
        #expect(error("Q", of: Probe.decoder(hostile: true, seconds: 3_600)) == nil)
    }

    @Test("a decoder has no capabilities, whichever user runs the daemon")
    func decoderHasNoCapabilities() throws {
        let before = try Probe.helpers()
        let picture = try Array("good".utf8).withUnsafeBytes { try decoder.open($0, format: .bmp) { false } }
        let helper = try #require(try Probe.helpers().subtracting(before).first)
        let children = try String(contentsOfFile: "/proc/\(helper)/task/\(helper)/children", encoding: .utf8)
        let child = try #require(children.split(separator: " ").first)
        for process in ["\(helper)", "\(child)"] {
            let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
            let lines = status.split(separator: "\n").filter { $0.hasPrefix("Cap") }
            // Only a process with capabilities can drop its bounding set.
            for line in lines where getuid() == 0 || !line.hasPrefix("CapBnd") {
                #expect(line.hasSuffix("\t0000000000000000"), "\(line)")
            }
            #expect(lines.count >= 4)
        }
        withExtendedLifetime(picture) {}
    }

    @Test(
        "a decoder that takes too much memory is ended, and the next picture is decoded",
        arguments: [Character("m"), "M", "S", "G", "B"])
    func memoryIsLimited(_ order: Character) throws {
        try expect(order, "crashed (SIGABRT)")
    }

    @Test(
        "false or malformed messages of a decoder fail its picture, and the next picture is decoded",
        arguments: [
            ("0", "0 x 5"), ("s", "an invalid message"), ("k", "an invalid message"), ("d", "out of turn"),
            ("T", "out of turn"),
        ])
    func lieIsFound(_ order: Character, _ reason: String) throws { try expect(order, reason) }

    @Test(
        "pixels of another size than stated are refused, and the next picture is decoded",
        arguments: [Character("L"), "Z"])
    func sizeThatGrowsIsRefused(_ order: Character) throws {
        try expect(order, "which is not the size that it stated")
    }

    @Test("a stated side above 65,535 is refused")
    func sideThatNoFormatHasIsRefused() {
        let side = Int(UInt32.max)
        #expect(error("W") == .sideTooLong(limit: 65_535, width: side, height: side))
    }

    @Test("a stated size of 60,000 x 60,000 is refused before memory is reserved")
    func statedSizeIsJudgedBeforeMemoryIsTaken() throws {
        let picture = try Array("P".utf8).withUnsafeBytes { bytes in
            try decoder.open(bytes, format: .bmp) { false }
        }
        let pipeline = try ImagePipeline(spec: ImageTensorSpec(width: 4, height: 4))
        #expect(throws: ImageError.tooLarge(pixels: 3_600_000_000, limit: 64_000_000, width: 60_000, height: 60_000)) {
            try pipeline.check(picture.info)
        }
        #expect(picture.memory > 3_600_000_000 * 4)
    }

    @Test(
        "forking, sockets, exec, signals, truncating and executable memory end the decoder process",
        arguments: [Character("f"), "n", "x", "K", "u", "X"])
    func whatIsNotDecodingEndsTheProcess(_ order: Character) throws {
        try expect(order, "forbidden system call (SIGSYS)")
    }

    @Test("a decoder cannot start 200 threads at a time")
    func threadsAtATimeAreFew() throws { #expect(error("t") == nil, "200 threads at a time") }

    @Test("a decoder can start 300 threads one after another")
    func threadsInTurnAreAsManyAsTilesNeed() throws { #expect(error("i") == nil) }

    @Test("a decoder cannot open files")
    func filesCannotBeOpened() throws { #expect(error("o") == nil) }

    @Test("a decoder has no writable descriptor but its own socket")
    func noOtherDescriptorIsOpen() throws { #expect(error("g") == nil) }

    @Test("a refusal whose reason is not text is reported with question marks")
    func reasonThatIsNoTextDoesNoHarm() throws { try expect("r", "????") }

    @Test("a decoder that writes past its memory crashes, and the next picture is decoded")
    func writingPastTheMemoryEndsTheProcess() throws { try expect("O", "crashed (SIG") }

    /// The pixels are taken from memory that no process can write any more.
    @Test("a decoded picture does not change while its decoder continues to write")
    func pixelsStandStillAlthoughTheirDecoderWritesOn() throws {
        for _ in 0..<20 {
            let picture = try Array("w".utf8).withUnsafeBytes { try decoder.open($0, format: .bmp) { false } }
            let image = try picture.decode { false }
            let first = try tensor(image)
            for _ in 0..<50 { #expect(try tensor(image) == first) }
            // Releasing it would end the process as well.
            withExtendedLifetime(picture) {}
        }
    }

    private func tensor(_ image: PixelImage) throws -> [UInt8] {
        let pipeline = try ImagePipeline(spec: ImageTensorSpec(width: 4, height: 4))
        var tensor = [UInt8](repeating: 0, count: pipeline.spec.byteCount)
        _ = try tensor.withUnsafeMutableBytes { try pipeline.prepare(image, into: $0) }
        return tensor
    }

    /// Waiting for memory that other pictures use does not count as the picture's time.
    @Test("a picture that waits 2.5 s between its header and its decoding is decoded")
    func timeOfWaitingForMemoryIsNotThePictures() throws {
        let picture = try Array("good".utf8).withUnsafeBytes { try decoder.open($0, format: .bmp) { false } }
        usleep(2_500_000)
        #expect(try picture.decode { false }.info.width == 4)
    }

    @Test("cancelling a request ends a decoder that hangs")
    func cancellationEndsTheWork() throws {
        #expect(throws: ImageError.cancelled) { try decoder.decode(Array("h".utf8), format: .bmp) { true } }
    }

    /// The address of the C library in a picture's process.
    private func layout() throws -> [Int] {
        let picture = try Array("A".utf8).withUnsafeBytes { try decoder.open($0, format: .bmp) { false } }
        return [picture.info.width, picture.info.height]
    }

    @Test("after a decoder has crashed, the next one has another address space layout")
    func layoutIsNewAfterACrash() throws {
        let first = try layout()
        #expect(try layout() == first)
        for order in ["c", "C", "f"] {
            let before = try layout()
            _ = error(Character(order))
            #expect(try layout() != before, "\(order)")
        }
    }

    @Test("after 100 pictures, decoders have another address space layout, and no helper process is left behind")
    func layoutIsNewAfterManyPictures() throws {
        let others = try Probe.helpers()
        let first = try layout()
        for _ in 0..<100 { _ = try decoder.decode(Array("good".utf8), format: .bmp) }
        #expect(try eventually { try layout() != first })
        #expect(eventually { (try? Probe.helpers().subtracting(others).count) == 1 })
    }

    @Test("a helper process that was killed is replaced")
    func helperThatWasKilledIsReplaced() throws {
        let before = try Probe.helpers()
        _ = try decoder.decode(Array("good".utf8), format: .bmp)
        let own = try Probe.helpers().subtracting(before)
        #expect(own.count == 1)
        for process in own { #expect(kill(process, SIGKILL) == 0) }
        // A request sent while it is ending is lost; later ones are not.
        for _ in 0..<100 where try !Probe.helpers().isDisjoint(with: own) { usleep(10_000) }
        #expect(try decoder.decode(Array("good".utf8), format: .bmp).info.height == 4)
    }

    @Test("decoded, cancelled and crashed pictures leave no descriptors and no processes")
    func picturesLeaveNoDescriptorsAndNoProcesses() throws {
        let before = try Probe.helpers()
        _ = try decoder.decode(Array("good".utf8), format: .bmp)
        let first = try #require(try Probe.helpers().subtracting(before).first)
        let own = try Probe.count("/proc/self/fd"), its = try Probe.count("/proc/\(first)/fd")
        for _ in 0..<LongTests.times(300, long: 10_000) {
            _ = try decoder.decode(Array("good".utf8), format: .bmp)
        }
        for round in 0..<LongTests.times(60, long: 1_000) {
            var asked = 0
            // Before the size, after it, while it decodes, and after a crash.
            let order = ["h", "good", "H", "C"][round % 4]
            do throws(ImageError) {
                _ = try decoder.decode(Array(order.utf8), format: .bmp) {
                    asked += 1
                    return asked > round % 4
                }
            } catch {
                guard order == "C" || error == .cancelled else { throw error }
            }
            _ = try Array("good".utf8).withUnsafeBytes { try decoder.open($0, format: .bmp) { false } }
        }
        // A replaced helper may just be ending.
        #expect(eventually { (try? Probe.count("/proc/self/fd")) == own })
        let helper = try #require(try Probe.helpers().subtracting(before).first)
        // The last processes without a waiting request are ended at once, and then reaped.
        #expect(
            eventually {
                // Fewer if the first picture's process was not reaped yet when they were counted.
                ((try? Probe.count("/proc/\(helper)/fd")) ?? .max) <= its
                    && (try? String(contentsOfFile: "/proc/\(helper)/task/\(helper)/children", encoding: .utf8)) == ""
            })
        #expect(eventually { (try? Probe.helpers().subtracting(before).count) == 1 }, "one is left")
    }

    @Test("a program that is not a decoder is reported to have ended at its start")
    func programThatIsNoHelperIsReported() {
        let decoder = ConfinedDecoder(program: "/bin/true")
        #expect(throws: ImageError.noDecoder("it ended when it was started")) {
            try decoder.decode(Array("good".utf8), format: .bmp)
        }
    }
}
