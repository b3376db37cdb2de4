/// The client that requests a slot, and the work of the request.
public struct Claim: Sendable, Hashable {
    /// The client, as a number below ``ClientShares/count``.
    package let client: Int
    /// The expected work in addition to the usual, derived from the request's header, in nanoseconds; 0: usual work.
    package let work: UInt64

    /// - Parameters:
    ///   - client: any number; two clients rarely share one.
    ///   - work: the expected time of work that differs between requests, in nanoseconds, such as decoding a picture.
    package init(client: UInt64 = 0, work: UInt64 = 0) {
        self.client = Int(client % UInt64(ClientShares.count))
        self.work = work
    }

    private init(client: Int, work: UInt64) {
        self.client = client
        self.work = work
    }

    /// A claim of the client for other work.
    package func working(_ nanoseconds: UInt64) -> Claim { Claim(client: client, work: nanoseconds) }

    /// The default claim: no particular client, usual work.
    public static let usual = Claim(client: 0, work: 0)

    /// The minimum work of a long request, in nanoseconds. Long requests do not take the last slots, nor the threads of
    /// others.
    package static let long: UInt64 = 10_000_000

    /// True if the request would occupy a slot for long.
    package var isLong: Bool { work >= Self.long }
}
