import CConfinedCodecs
import ConfinedDecoding
import ImagePipeline
import Testing

/// Tests of the dialogue with a process that decodes a picture, without processes.
@Suite struct DecodeDialogueTests {
    private static let limits = DecodeLimits(bytes: 100, seconds: 9)

    private func statement(
        _ kind: ccodec_statement_kind, _ width: UInt32 = 4, _ height: UInt32 = 3,
        change: (inout ccodec_statement) -> Void = { _ in }
    ) -> DecoderMessage? {
        var message = ccodec_statement()
        message.kind = kind.rawValue
        message.width = width
        message.height = height
        change(&message)
        return withUnsafeBytes(of: message) { DecoderMessage($0) }
    }

    private func refusal(_ text: String) -> DecodeDialogue.Action { .refuse(.corrupt("GIF: \(text)")) }

    @Test("a stated size is checked, and the pixels are taken after memory was given and decoding is done")
    func pictureIsStatedAllowedAndDone() throws {
        var dialogue = DecodeDialogue(.gif, limits: Self.limits)
        let stated = try #require(statement(CCODEC_SIZE))
        #expect(dialogue.take(.received(stated)) == .check(stated))
        dialogue.allow(bytes: 48, seconds: 3, clock: 4)
        let done = try #require(statement(CCODEC_DONE))
        #expect(dialogue.take(.received(done)) == .take(done))
    }

    @Test("the decoded size may need less memory than was given, but not more, and must not be empty")
    func doneMayBeSmallerButNotLarger() throws {
        for (width, height, isRight) in [(UInt32(3), UInt32(3), true), (12, 1, true), (13, 1, false), (0, 3, false)] {
            var dialogue = DecodeDialogue(.gif, limits: Self.limits)
            _ = dialogue.take(.received(statement(CCODEC_SIZE)))
            dialogue.allow(bytes: 48, seconds: 3, clock: 4)
            let done = try #require(statement(CCODEC_DONE, width, height))
            let expected =
                isRight
                ? .take(done)
                : refusal("its decoder wrote \(width) x \(height) pixels, which is not the size that it stated")
            #expect(dialogue.take(.received(done)) == expected)
        }
    }

    @Test("messages of a decoder in the wrong order are refused")
    func messagesOutOfTurnAreRefused() {
        let outOfTurn = refusal("its decoder sent a message out of turn")
        var early = DecodeDialogue(.gif, limits: Self.limits)
        #expect(early.take(.received(statement(CCODEC_DONE))) == outOfTurn)
        var twice = DecodeDialogue(.gif, limits: Self.limits)
        _ = twice.take(.received(statement(CCODEC_SIZE)))
        #expect(twice.take(.received(statement(CCODEC_SIZE))) == outOfTurn)
        var notRequested = DecodeDialogue(.gif, limits: Self.limits)
        _ = notRequested.take(.received(statement(CCODEC_SIZE)))
        #expect(notRequested.take(.received(statement(CCODEC_DONE))) == outOfTurn, "no memory was given to it")
        var unsized = DecodeDialogue(.gif, limits: Self.limits)
        unsized.allow(bytes: 48, seconds: 3, clock: 4)
        #expect(unsized.take(.received(statement(CCODEC_DONE))) == outOfTurn, "it stated no size")
        var again = DecodeDialogue(.gif, limits: Self.limits)
        _ = again.take(.received(statement(CCODEC_SIZE)))
        again.allow(bytes: 48, seconds: 3, clock: 4)
        #expect(again.take(.received(statement(CCODEC_SIZE))) == outOfTurn)
    }

    @Test("each way in which a decoder process can end is named in the error")
    func endsAreNamed() {
        for (signal, status, text) in [
            (Int32(11), Int32(0), "its decoder crashed (SIGSEGV)"),
            (31, 0, "its decoder made a forbidden system call (SIGSYS)"),
            (9, 0, "its decoder was killed (out of memory?)"),
            (0, 7, "its decoder ended with status 7 before it was done"),
            (24, 0, "decoding it took more than 1 s of a processor"), (60, 0, "its decoder crashed (signal 60)"),
        ] {
            var dialogue = DecodeDialogue(.gif, limits: Self.limits)
            #expect(dialogue.take(.closed) == .awaitEnd)
            #expect(dialogue.take(.ended(signal: signal, status: status)) == refusal(text))
        }
        var slow = DecodeDialogue(.gif, limits: Self.limits)
        _ = slow.take(.received(statement(CCODEC_SIZE)))
        slow.allow(bytes: 48, seconds: 3, clock: 4)
        #expect(slow.take(.closed) == .awaitEnd)
        #expect(
            slow.take(.ended(signal: 24, status: 0)) == refusal("decoding it took more than 3 s of a processor"))
        var late = DecodeDialogue(.gif, limits: Self.limits)
        #expect(late.take(.late) == refusal("decoding it took longer than 3 s"))
        late = DecodeDialogue(.gif, limits: Self.limits)
        _ = late.take(.received(statement(CCODEC_SIZE)))
        late.allow(bytes: 48, seconds: 3, clock: 4)
        #expect(late.take(.late) == refusal("decoding it took longer than 4 s"))
        var cancelled = DecodeDialogue(.gif, limits: Self.limits)
        #expect(cancelled.take(.cancelled) == .refuse(.cancelled))
    }

    @Test("the processor time grows with the file and with the pixels, up to the limit of all pictures")
    func processorTimeGrowsWithThePicture() {
        let small = DecodeLimits(bytes: 600_000, seconds: 30), large = DecodeLimits(bytes: 160 << 20, seconds: 30)
        #expect(small.secondsToOpen == 1 && large.secondsToOpen == 11)
        #expect([1, 12_000_000, 64_000_000].map { small.seconds(ofPixels: $0) } == [2, 14, 30])
        #expect(large.seconds(ofPixels: 1_000_000) == 13)
        #expect([1, 12_000_000, 64_000_000].map { small.clockSeconds(ofPixels: $0) } == [10, 22, 30])
    }

    @Test("a stated size with a side of 0 or above 65,535 is refused")
    func sizesThatNoPictureHasAreRefused() {
        for (width, height, expected) in [
            (UInt32(0), UInt32(4), refusal("its size is 0 x 4 pixels")),
            (65_536, 1, .refuse(.sideTooLong(limit: 65_535, width: 65_536, height: 1))),
        ] {
            var dialogue = DecodeDialogue(.gif, limits: Self.limits)
            #expect(dialogue.take(.received(statement(CCODEC_SIZE, width, height))) == expected)
        }
    }

    /// A message of `count` bytes that begins like one with a size.
    private static func sizeMessage(_ count: Int) -> DecoderMessage? {
        let bytes = (0..<count).map { $0 == 0 ? UInt8(CCODEC_SIZE.rawValue) : 0 }
        return bytes.withUnsafeBytes { DecoderMessage($0) }
    }

    @Test("messages of a wrong length or kind are not read, and odd orientation and memory are corrected")
    func messagesAreReadOnlyWhole() {
        let size = MemoryLayout<ccodec_statement>.size
        for count in [0, 1, size - 1, size + 1] {
            #expect(Self.sizeMessage(count) == nil)
        }
        #expect(Self.sizeMessage(size)?.kind == .size)
        #expect(statement(CCODEC_SIZE) { $0.kind = 0 } == nil)
        let odd = statement(CCODEC_SIZE) {
            $0.orientation = 9
            $0.memory = .max
        }
        #expect(odd?.orientation == 1)
        #expect(odd?.memory == 1 << 56)
    }

    @Test("the reason of a decoder for a refusal is made printable, and a missing reason replaced")
    func reasonsAreText() {
        let long = statement(CCODEC_REFUSED) { message in
            withUnsafeMutableBytes(of: &message.reason) {
                for index in $0.indices { $0[index] = index == 0 ? 0x0A : 0x61 }
            }
        }
        guard case .refused(let reason)? = long?.kind else {
            Issue.record("not a refusal")
            return
        }
        #expect(reason == "?" + String(repeating: "a", count: 199))
        var dialogue = DecodeDialogue(.gif, limits: Self.limits)
        #expect(dialogue.take(.received(statement(CCODEC_REFUSED))) == refusal("it is damaged"))
    }
}
