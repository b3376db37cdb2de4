import Glibc
import HTTPWire

/// The function that libFuzzer calls with each input.
///
/// Faults are: a crash, an access to a guard page, a result that depends on the cuts, an accepted head without the
/// shape of a head, a decoder that continues after an error, and a difference to the naive parser. Each ends the
/// process; libFuzzer then keeps the input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
    guard let input = FuzzInput(UnsafeRawBufferPointer(start: data, count: size)) else { return 0 }
    if input.isMultipart {
        let boundary = Array(FuzzInput.boundaries[input.boundary].utf8)
        compare(input, MultipartReplay(boundary: boundary, limits: input.wireLimits))
        compareWithOracle(input, boundary)
        readContentType(input)
    } else {
        compare(input, ConnectionReplay(limits: input.wireLimits))
        compareChunksWithOracle(input)
    }
    for version in ProxyHeader.Version.allCases { compareHeader(input, version) }
    return 0
}

private func compare(_ input: FuzzInput, _ replay: some Replay) {
    let memory = GuardedBytes.shared(count: input.bytes.count)
    let whole = replay.run(input.bytes, cuts: [], memory: memory)
    for line in whole where line.starts(with: Array("fault: ".utf8)) { fail("within a replay", input, whole, []) }
    for cuts in input.cuts {
        let cut = replay.run(input.bytes, cuts: cuts, memory: memory)
        if cut != whole { fail("cut at \(cuts)", input, whole, cut) }
    }
}

/// The result for a PROXY header must not depend on the cuts; the header must not be longer than the input, and must
/// end when no more bytes are requested.
private func compareHeader(_ input: FuzzInput, _ version: ProxyHeader.Version) {
    let whole = input.bytes.withUnsafeBytes { ProxyHeader.parse($0, version) }
    var first = ProxyHeader.Result.needMore
    var end = 0
    while first == .needMore, end <= min(input.bytes.count, 4200) {
        first = input.bytes.withUnsafeBytes { ProxyHeader.parse(UnsafeRawBufferPointer(rebasing: $0[..<end]), version) }
        end += 1
    }
    switch (whole, first) {
    case (.needMore, .needMore): break
    case (.malformed, .malformed): break
    case (.header(let header, let size), .header(let other, let otherSize)):
        let maximum = version == .one ? ProxyHeader.longestLine : 16 + ProxyHeader.longestRest
        if header == other, size == otherSize, size == end - 1, size <= maximum { break }
        fail("PROXY header \(version): \(whole) or \(first)", input, [], [])
    default: fail("PROXY header \(version): \(whole) or \(first)", input, [], [])
    }
}

/// If the naive parser accepts a chunked body, its result must equal the decoder's.
private func compareChunksWithOracle(_ input: FuzzInput) {
    let expected = ChunkOracle.decode(input.bytes, limits: input.wireLimits)
    var decoder = ChunkedDecoder(limits: input.wireLimits)
    var data: [UInt8] = []
    var end: Int?
    input.bytes.withUnsafeBytes { bytes in
        do throws(WireError) {
            let (consumed, done) = try decoder.decode(bytes) { run throws(WireError) in data.append(contentsOf: run) }
            if done { end = consumed }
        } catch { end = nil }
    }
    if expected?.end != end || (end != nil && expected?.data != data) {
        fail("chunks: \(String(describing: expected)) or \(String(describing: end))", input, [data], [])
    }
}

/// The naive search for boundaries must find the data that the decoder emits, as far as it goes.
private func compareWithOracle(_ input: FuzzInput, _ boundary: [UInt8]) {
    var decoder = MultipartDecoder(boundary: boundary, limits: input.wireLimits)
    var bodies: [Range<Int>] = []
    var open = false
    input.bytes.withUnsafeBytes { bytes in
        do throws(WireError) {
            try decoder.feed(bytes) { event throws(WireError) in
                switch event {
                case .partBegin: open = true
                case .data(let range):
                    if !open { fail("data outside a part", input, [], []) }
                    bodies.append(range)
                case .partEnd: open = false
                case .end: break
                }
            }
        } catch {}
    }
    let delimiter = [0x0D, 0x0A, 0x2D, 0x2D] + boundary
    for body in bodies {
        let data = input.bytes[body]
        if contains(data, delimiter) { fail("a boundary in a part at \(body)", input, [], []) }
    }
}

private func contains(_ data: ArraySlice<UInt8>, _ word: [UInt8]) -> Bool {
    guard data.count >= word.count else { return false }
    return (data.startIndex...(data.endIndex - word.count)).contains { data[$0..<($0 + word.count)] == word[...] }
}

private func readContentType(_ input: FuzzInput) {
    do throws(WireError) {
        let type = String(decoding: input.bytes.prefix(200), as: UTF8.self)
        _ = try MultipartDecoder.boundary(contentType: "multipart/form-data;" + type)
    } catch {}
}

private func fail(_ what: String, _ input: FuzzInput, _ one: [[UInt8]], _ other: [[UInt8]]) -> Never {
    print("FAULT: \(what)\n\(FixtureText.written(input.bytes))\n--- whole")
    for line in one { print(FixtureText.written(line)) }
    print("--- cut")
    for line in other { print(FixtureText.written(line)) }
    fflush(nil)
    abort()
}

extension GuardedBytes {
    // libFuzzer runs its target on one thread only.
    nonisolated(unsafe) private static var kept = GuardedBytes(count: 65_536)

    static func shared(count: Int) -> GuardedBytes {
        count <= 65_536 ? kept : GuardedBytes(count: count)
    }
}
