//! Words by which options are found, in several languages, and the parts of options.

use ep_polling::text::capitalized;

use super::sentences::pattern;

/// Words that lead to an option and are no part of it, in several languages.
pub(super) const HEADS: &str = "is are was were do does did should shall would could can will must may might i we you they he she it use using choose pick prefer go as between either whether if to learn closer with than from for of by mejor plutôt lieber besser eher es é è beter lepiej better best rather into my our your one on called say recommend suggest ship launch charge meglio plutôt aprender comprar usar";
/// Words that begin an option about a place or a time.
pub(super) const PREPOSITIONS: &str = "on in at under over above below behind beside next against after before by with without via through from to into during near per inside outside indoors outdoors now later today tomorrow tonight soon first upstairs downstairs online offline in-person por para en na no em am im an auf unter über vor nach bei chez dans sur sous avant après avec sans par sul nel in op bij voor na w przed con sin mit ohne avec com sem z bez met zonder";
/// Words that begin a place or a time after a thing.
pub(super) const PLACES: &str =
    "on in at during per before nel nella nelle nei sul sulla im am beim dans en no na nos nas";
/// Words that begin a noun phrase.
pub(super) const DETERMINERS: &str = "the a an my our your his her their this one two three four five no every some another der die das den dem ein eine einen le la les un une des el los las una unos o os as um uma il lo gli i de het een";
/// States and provinces whose names follow those of towns after a comma.
pub(super) const STATES: &str = "alabama, alaska, arizona, arkansas, california, colorado, connecticut, delaware, florida, georgia, hawaii, idaho, illinois, indiana, iowa, kansas, kentucky, louisiana, maine, maryland, massachusetts, michigan, minnesota, mississippi, missouri, montana, nebraska, nevada, new hampshire, new jersey, new mexico, new york, north carolina, north dakota, ohio, oklahoma, oregon, pennsylvania, rhode island, south carolina, south dakota, tennessee, texas, utah, vermont, virginia, washington, west virginia, wisconsin, wyoming, d.c., ontario, quebec, british columbia, alberta, manitoba, nova scotia";
/// Words after which a noun phrase has ended.
pub(super) const TAILS: &str = "for if when as because given since while during until once tonight today tomorrow this next is are sounds sound fits fit make makes goes tastes suits lasts costs pays feels has have would will should can does gives offers which who first anymore better best more most worse stronger faster cheaper safer healthier easier harder quicker slower tastier nicer warmer cooler softer louder quieter bigger larger smaller longer shorter higher lower older younger newer greener cleaner simpler smarter funnier prettier cuter tougher lighter heavier für wenn bei pour quand si para cuando per quando voor als dla gdy для если";
/// Verbs that follow two things in a question such as "does A or B cost less".
pub(super) const BASE_VERBS: &str = "cost last suit make taste win work look feel fit go sell pay run need take save use have give offer beat sound burn keep help hold require age sleep smell grow scale perform";
/// Words after which an action has ended.
pub(super) const CLAUSE_TAILS: &str = "s'il s'ils if when because given since once while wenn weil si quand parce cuando porque se quando als omdat gdy jeśli если";
/// Words that follow a verb.
pub(super) const OBJECTS: &str = "it them him her me us you the a an my our your this that";
/// Verbs of decisions.
pub(super) const VERBS: &str = "keep cancel rent buy sell repair replace fix move wait merge put hire close eat go stay quit take get use leave call text ask tell say send ship launch start stop retry kill page skip rewrite refactor translate review write read learn study work build make pay save spend invest drink drive fly walk run cook order bake make do be have let try give reply answer apologise apologize confront ignore accept decline reject approve deny offer propose adopt switch migrate upgrade stick postpone delay cut raise lower lease book pick choose show search report escalate block allow add remove drop open return refund exchange tip bring wear meet invite marry break date foster plant paint lay install deploy roll scale split join focus hide share post publish tweet email visit travel camp host throw skip refinance lend borrow donate declare claim file sue settle negotiate turn hold continue proceed pause abort restart reboot revert rebase squash test mock cache log encrypt hash store delete archive hand pass outsource automate train sit stand sleep grow play watch listen swim cycle jog bike ride swerve pull push request change leave";

/// True if a list has this word.
pub(super) fn is_in(list: &str, word: &str) -> bool {
    let word = bare(word).to_lowercase();
    list.split(' ').any(|known| known == word)
}

/// Returns a word without the marks around it.
pub(super) fn bare(word: &str) -> &str {
    word.trim_matches(|letter: char| {
        letter.is_ascii_punctuation() || matches!(letter, '¿' | '“' | '”' | '«' | '»' | '„')
    })
}

/// Splits a text at white space.
pub(super) fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

pattern!(
    /// A verb at the end of a German sentence: "nach Rom fahren".
    GERMAN_VERB,
    r"\s(?:fahren|gehen|nehmen|kaufen|machen|fliegen|reisen|essen|trinken|ziehen|wählen|nutzen|verwenden|buchen)$"
);

/// Returns an option without the marks around it, with a capital.
pub(super) fn clean(option: &str) -> String {
    let option = option
        .trim()
        .trim_start_matches(['¿', '"', '“', '(', '\''])
        .trim_end_matches([',', '"', '”', ';', ':', '\'']);
    let option = if option.contains('(') { option } else { option.trim_end_matches(')') };
    let option = GERMAN_VERB.find(option).map_or(option, |verb| &option[..verb.start()]);
    let option = option.trim();
    let option =
        [" mı", " mi", " mu", " mü"].iter().find_map(|mark| option.strip_suffix(mark)).unwrap_or(option);
    capital(option)
}

fn capital(option: &str) -> String {
    let first = option.split_whitespace().next().unwrap_or_default();
    if first.chars().any(char::is_uppercase) {
        return option.to_owned();
    }
    capitalized(option)
}
