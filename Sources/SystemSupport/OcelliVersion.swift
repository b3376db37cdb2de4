/// The version of this build.
package enum OcelliVersion {
    /// The version of CHANGELOG.md's newest entry.
    package static let number = "0.1.0"
}
