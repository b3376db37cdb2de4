/// The reason why something was not taught, in a sentence.
package enum TeachingError: Error, Equatable {
    /// A name, label or number that is not allowed.
    case invalid(String)
    /// It is there already with other properties, or it is stale.
    case conflict(String)
    /// There is no such taught model, label or example.
    case unknown(String)
    /// There is no such version.
    case unknownVersion(String)
    /// A limit, or the disk: the setting that says so is in the sentence.
    case full(String)
    /// The files cannot be read or written.
    case storage(String)

    package var message: String {
        switch self {
        case .invalid(let text), .conflict(let text), .unknown(let text), .unknownVersion(let text), .full(let text),
            .storage(let text):
            text
        }
    }
}
