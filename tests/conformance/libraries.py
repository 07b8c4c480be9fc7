"""Functions of SciPy and scikit-learn that are given Arrays, and what is expected of each."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

# SciPy reads it as it is imported.
os.environ["SCIPY_ARRAY_API"] = "1"

Data = dict[str, Any]

FFT_OF_AN_AXIS = ("fft", "hfft", "ifft", "ihfft", "irfft", "rfft")
FFT_OF_ALL = (
    *("fft2", "fftn", "fftshift", "hfft2", "ifft2", "ifftn", "ifftshift", "ihfft2", "irfft2"),
    *("irfftn", "rfft2", "rfftn"),
)

# Of SciPy: what uses functions of its own compiled code, on the host.
ON_HOST = frozenset(
    [
        "fft.dct",
        "fft.dctn",
        "ndimage.gaussian_filter",
        "signal.convolve",
        "signal.detrend",
        "special.entr",
        "special.erf",
        "special.expit",
        "special.gammaln",
        "special.logit",
        "special.ndtr",
        "stats.bartlett",
        "stats.chisquare",
        "stats.cramervonmises",
        "stats.entropy",
        "stats.f_oneway",
        "stats.jarque_bera",
        "stats.mannwhitneyu",
        "stats.normaltest",
        "stats.pearsonr",
        "stats.ttest_1samp",
    ]
)


@dataclass(frozen=True)
class Case:
    """`call` of named arrays. Where `on_host`, the library itself computes it with NumPy and gives
    an Array back."""

    call: Callable[[Data], Any]
    on_host: bool = False


def data() -> Data:
    """What the calls take: a table, its labels and a target, and vectors of probabilities."""
    rng = np.random.default_rng(7)
    table = rng.normal(size=(40, 5)).astype(np.float32)
    target = (table @ np.arange(5) + 1).astype(np.float32)
    noise = rng.normal(size=(2, 40)).astype(np.float32)
    return {
        "x": table,
        "t": target,
        "q": target + noise[0] / 10,
        "p": rng.uniform(0.1, 0.9, 20).astype(np.float32),
        "labels": (table[:, 0] + noise[0] / 3 > 0).astype(np.int32),
        "guess": (table[:, 0] + noise[1] / 3 > 0).astype(np.int32),
        "score": (1 / (1 + np.exp(-table[:, 0]))).astype(np.float32),
    }


def scipy_cases() -> dict[str, Case]:
    import scipy.cluster.vq
    import scipy.ndimage
    from scipy import fft, integrate, signal, special, stats
    from scipy.spatial.transform import Rotation

    def along_columns(name: str) -> Callable[[Data], Any]:
        return lambda d: getattr(fft, name)(d["x"], axis=0)

    def along_all(name: str) -> Callable[[Data], Any]:
        return lambda d: getattr(fft, name)(d["x"])

    calls: dict[str, Callable[[Data], Any]] = {
        **{f"fft.{name}": along_columns(name) for name in FFT_OF_AN_AXIS},
        **{f"fft.{name}": along_all(name) for name in FFT_OF_ALL},
        "fft.dct": lambda d: fft.dct(d["p"]),
        "fft.dctn": lambda d: fft.dctn(d["x"]),
        "fft.fht": lambda d: fft.fht(d["p"], 0.1, 0.5),
        "signal.correlate": lambda d: signal.correlate(d["t"], d["p"], method="fft"),
        "signal.envelope": lambda d: signal.envelope(d["t"]),
        "signal.fftconvolve": lambda d: signal.fftconvolve(d["x"], d["x"]),
        "signal.freqz": lambda d: signal.freqz(d["p"])[1],
        "signal.hilbert": lambda d: signal.hilbert(d["t"]),
        "signal.hilbert2": lambda d: signal.hilbert2(d["x"]),
        "signal.oaconvolve": lambda d: signal.oaconvolve(d["t"], d["p"]),
        "signal.resample": lambda d: signal.resample(d["x"], 10),
        "cluster.vq.whiten": lambda d: scipy.cluster.vq.whiten(d["x"]),
        "integrate.cumulative_simpson": lambda d: integrate.cumulative_simpson(d["x"], axis=0),
        "integrate.cumulative_trapezoid": lambda d: integrate.cumulative_trapezoid(d["x"], axis=0),
        "integrate.trapezoid": lambda d: integrate.trapezoid(d["x"], axis=0),
        "signal.convolve": lambda d: signal.convolve(d["p"], d["p"], method="direct"),
        "signal.detrend": lambda d: signal.detrend(d["x"], axis=0, type="constant"),
        "spatial.transform.Rotation": lambda d: Rotation.from_quat(d["x"][:, :4]).as_matrix(),
        "special.log_softmax": lambda d: special.log_softmax(d["x"], axis=1),
        "special.logsumexp": lambda d: special.logsumexp(d["x"], axis=1),
        "special.softmax": lambda d: special.softmax(d["x"], axis=1),
        "stats.bartlett": lambda d: stats.bartlett(d["t"], d["q"]).statistic,
        "stats.chisquare": lambda d: stats.chisquare(d["p"]).statistic,
        "stats.circmean": lambda d: stats.circmean(d["p"]),
        "stats.cramervonmises": lambda d: stats.cramervonmises(d["p"], lambda v: v).statistic,
        "stats.describe": lambda d: stats.describe(d["x"]).skewness,
        "stats.entropy": lambda d: stats.entropy(d["p"]),
        "stats.f_oneway": lambda d: stats.f_oneway(d["t"], d["q"]).statistic,
        "stats.gmean": lambda d: stats.gmean(d["p"]),
        "stats.hmean": lambda d: stats.hmean(d["p"]),
        "stats.iqr": lambda d: stats.iqr(d["x"]),
        "stats.jarque_bera": lambda d: stats.jarque_bera(d["x"]).statistic,
        "stats.kurtosis": lambda d: stats.kurtosis(d["x"]),
        "stats.mannwhitneyu": lambda d: stats.mannwhitneyu(d["t"], d["q"]).statistic,
        "stats.moment": lambda d: stats.moment(d["x"], 3),
        "stats.normaltest": lambda d: stats.normaltest(d["x"]).statistic,
        "stats.pearsonr": lambda d: stats.pearsonr(d["t"], d["q"]).statistic,
        "stats.pmean": lambda d: stats.pmean(d["p"], 2),
        "stats.quantile": lambda d: stats.quantile(d["p"], 0.3),
        "stats.rankdata": lambda d: stats.rankdata(d["p"]),
        "stats.sem": lambda d: stats.sem(d["x"]),
        "stats.skew": lambda d: stats.skew(d["x"]),
        "stats.tmean": lambda d: stats.tmean(d["x"]),
        "stats.ttest_1samp": lambda d: stats.ttest_1samp(d["x"], 0.0).statistic,
        "stats.variation": lambda d: stats.variation(d["x"]),
        "stats.zmap": lambda d: stats.zmap(d["x"], d["x"]),
        "stats.zscore": lambda d: stats.zscore(d["x"]),
        "ndimage.gaussian_filter": lambda d: scipy.ndimage.gaussian_filter(d["x"], 1.0),
        "special.entr": lambda d: special.entr(d["p"]),
        "special.erf": lambda d: special.erf(d["x"]),
        "special.expit": lambda d: special.expit(d["x"]),
        "special.gammaln": lambda d: special.gammaln(d["p"]),
        "special.logit": lambda d: special.logit(d["p"]),
        "special.ndtr": lambda d: special.ndtr(d["x"]),
        "special.rel_entr": lambda d: special.rel_entr(d["p"], d["p"]),
        "special.xlogy": lambda d: special.xlogy(d["p"], d["p"]),
    }
    return {name: Case(call, name in ON_HOST) for name, call in calls.items()}


def scikit_learn_cases() -> dict[str, Case]:
    from sklearn import metrics, naive_bayes, preprocessing
    from sklearn.decomposition import PCA
    from sklearn.metrics import pairwise

    def of_labels(metric: Callable[..., Any]) -> Callable[[Data], Any]:
        return lambda d: metric(d["labels"], d["guess"])

    def of_targets(metric: Callable[..., Any]) -> Callable[[Data], Any]:
        return lambda d: metric(d["t"], d["q"])

    def of_scores(metric: Callable[..., Any]) -> Callable[[Data], Any]:
        return lambda d: metric(d["labels"], d["score"])

    def of_tables(kernel: Callable[..., Any]) -> Callable[[Data], Any]:
        return lambda d: kernel(d["x"], d["x"][:7])

    def fitted(estimator: Any) -> Callable[[Data], Any]:
        return lambda d: estimator().fit_transform(d["x"])

    calls: dict[str, Callable[[Data], Any]] = {
        # Components are known but for their signs.
        "decomposition.PCA": lambda d: abs(
            PCA(2, svd_solver="covariance_eigh").fit_transform(d["x"])
        ),
        "metrics.mean_pinball_loss": of_targets(metrics.mean_pinball_loss),
        "metrics.pairwise.paired_cosine_distances": lambda d: pairwise.paired_cosine_distances(
            d["x"], d["x"] + 1
        ),
        "metrics.pairwise.paired_euclidean_distances": lambda d: (
            pairwise.paired_euclidean_distances(d["x"], d["x"] + 1)
        ),
        "metrics.accuracy_score": of_labels(metrics.accuracy_score),
        "metrics.confusion_matrix": of_labels(metrics.confusion_matrix),
        "metrics.f1_score": of_labels(metrics.f1_score),
        "metrics.precision_score": of_labels(metrics.precision_score),
        "metrics.recall_score": of_labels(metrics.recall_score),
        "metrics.zero_one_loss": of_labels(metrics.zero_one_loss),
        "metrics.brier_score_loss": of_scores(metrics.brier_score_loss),
        "metrics.log_loss": of_scores(metrics.log_loss),
        "metrics.roc_auc_score": of_scores(metrics.roc_auc_score),
        "metrics.d2_tweedie_score": of_targets(metrics.d2_tweedie_score),
        "metrics.explained_variance_score": of_targets(metrics.explained_variance_score),
        "metrics.max_error": of_targets(metrics.max_error),
        "metrics.mean_absolute_error": of_targets(metrics.mean_absolute_error),
        "metrics.mean_absolute_percentage_error": of_targets(
            metrics.mean_absolute_percentage_error
        ),
        "metrics.mean_squared_error": of_targets(metrics.mean_squared_error),
        "metrics.r2_score": of_targets(metrics.r2_score),
        "metrics.pairwise.additive_chi2_kernel": lambda d: pairwise.additive_chi2_kernel(
            abs(d["x"])
        ),
        "metrics.pairwise.cosine_similarity": of_tables(pairwise.cosine_similarity),
        "metrics.pairwise.euclidean_distances": of_tables(pairwise.euclidean_distances),
        "metrics.pairwise.linear_kernel": of_tables(pairwise.linear_kernel),
        "metrics.pairwise.polynomial_kernel": of_tables(pairwise.polynomial_kernel),
        "metrics.pairwise.rbf_kernel": of_tables(pairwise.rbf_kernel),
        "metrics.pairwise.sigmoid_kernel": of_tables(pairwise.sigmoid_kernel),
        "naive_bayes.GaussianNB": lambda d: (
            naive_bayes.GaussianNB().fit(d["x"], d["labels"]).predict(d["x"])
        ),
        "preprocessing.Binarizer": fitted(preprocessing.Binarizer),
        "preprocessing.KernelCenterer": lambda d: preprocessing.KernelCenterer().fit_transform(
            d["x"] @ d["x"].T
        ),
        "preprocessing.LabelEncoder": lambda d: preprocessing.LabelEncoder().fit_transform(
            d["labels"]
        ),
        "preprocessing.MaxAbsScaler": fitted(preprocessing.MaxAbsScaler),
        "preprocessing.MinMaxScaler": fitted(preprocessing.MinMaxScaler),
        "preprocessing.Normalizer": fitted(preprocessing.Normalizer),
        "preprocessing.PolynomialFeatures": fitted(preprocessing.PolynomialFeatures),
        "preprocessing.StandardScaler": fitted(preprocessing.StandardScaler),
    }
    return {name: Case(call) for name, call in calls.items()}
