import { defineChain } from 'viem'

export function localChain(id, rpcUrl) {
  return defineChain({
    id,
    name: 'local',
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: { default: { http: [rpcUrl] } },
  })
}
