/// The client that asks for a slot, and the work that it asks for.
public struct Claim: Sendable, Hashable {
    /// The client, as a number below ``ClientShares/count``.
    package let client: Int
    /// The work beside the usual that the request's header announces, in nanoseconds; 0: nothing unusual.
    package let work: UInt64

    /// - Parameters:
    ///   - client: any number; two clients rarely share one.
    ///   - work: the expected nanoseconds of work that differs between requests, such as decoding a picture.
    package init(client: UInt64 = 0, work: UInt64 = 0) {
        self.client = Int(client % UInt64(ClientShares.count))
        self.work = work
    }

    private init(client: Int, work: UInt64) {
        self.client = client
        self.work = work
    }

    /// The same client's claim for other work.
    package func working(_ nanoseconds: UInt64) -> Claim { Claim(client: client, work: nanoseconds) }

    /// Of nobody in particular, for usual work.
    public static let usual = Claim(client: 0, work: 0)

    /// Work of this many nanoseconds is long: it does not take the last slots, nor the threads of the others.
    package static let long: UInt64 = 10_000_000

    /// True if the request would keep others from their slots for long.
    package var isLong: Bool { work >= Self.long }
}
